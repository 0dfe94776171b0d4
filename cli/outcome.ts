/** What a call came to, as an exit code and a sentence. */
import { errorOf, type Invocation } from './client.js';
import { CliError, EXIT, type ExitCode } from './fault.js';

const CODES: Readonly<Record<string, ExitCode>> = {
  unreachable: EXIT.unreachable,
  refused: EXIT.refused,
};

/** What a person can do next: by code, or else by outcome. */
const WAYS: Readonly<Record<string, string>> = {
  login_required: 'set MOTEBRIDGE_TOKEN to the one that `motebridge start` prints',
  too_big: 'send less at once',
  no_such_device: '`motebridge devices` lists what is there',
  unauthorized: 'nothing was run',
  unreachable: 'see `motebridge devices` for what is online',
  refused: '`motebridge call <board> help` lists what it takes',
  expired: 'it was not run, so it can be sent again',
  outcome_unknown: 'look at the board before sending it again',
};

/** Throws unless the call succeeded; `pending` is not a success. */
export function mustSucceed(answer: Invocation): void {
  const ids = pick(answer, 'device_id', 'envelope_id');
  if (answer.ok && answer.pending === true) {
    const id = answer.envelope_id ?? '';
    throw new CliError(
      'pending',
      `The board has not answered yet; read its answer later with \`motebridge result ${id}\`.`,
      EXIT.failed,
      ids,
    );
  }
  if (answer.ok) return;
  const { code, message } = errorOf(answer, 'the call failed');
  const outcome = answer.outcome ?? code;
  const way = WAYS[code] ?? WAYS[outcome];
  const sentence = message.replace(/[.\s]+$/, '');
  throw new CliError(
    code === 'hub' ? outcome : code,
    way === undefined ? `${sentence}.` : `${sentence}; ${way}.`,
    CODES[outcome] ?? EXIT.failed,
    { ...(answer.outcome === undefined ? {} : { outcome: answer.outcome }), ...ids },
  );
}

/** The answer's named fields that are there. */
export function pick(answer: Invocation, ...names: (keyof Invocation)[]): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of names) if (answer[name] !== undefined) kept[name] = answer[name];
  return kept;
}
