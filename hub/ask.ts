/** A device asks its owner's agent (wire document, part A6; statements 117 and 118). */
import { readFile } from 'node:fs/promises';
import { cutText, NO_ANSWER, TINY_LIMITS } from '../protocol/tiny.js';
import { type Agent, AgentUnusable, type Question } from './agent.js';
import { AnswerReader } from './answer.js';
import type { HubClock } from './clock.js';
import type { HubContext } from './context.js';
import type { DeviceRow } from './devices.js';
import { CallFault } from './endpoint/fault.js';
import { keepEvent } from './events.js';
import { mediaBy, mediaFile, ownKey } from './media.js';
import { Refusal } from './refusal.js';

const BUDGET_MS = 75_000;
const QUESTION_SHOWN = 160;

/** Why a question ends before its answer, in the words for who asked. */
const STOPPED = {
  late: `the agent did not answer within ${BUDGET_MS / 1000} s; ask again`,
  gone: 'nobody waits for the answer any more',
  replaced: 'a newer question of this device took its place',
  closing: 'the hub is stopping; ask again when it is back',
} as const;
type Stopped = keyof typeof STOPPED;

/** One question on its way: its time, and who may end it. */
export class Turn {
  private readonly controller = new AbortController();
  private readonly timer: { cancel(): void };
  private readonly stopped: Promise<never>;
  private refuse: (why: Refusal) => void = () => {};

  constructor(clock: HubClock) {
    this.stopped = new Promise((_resolve, reject) => {
      this.refuse = reject;
    });
    this.stopped.catch(() => {});
    this.timer = clock.after(BUDGET_MS, () => this.stop('late'));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  stop(why: Stopped): void {
    this.refuse(new Refusal(424, STOPPED[why], { retryable: why !== 'replaced' }));
    this.end();
  }

  /** Whoever still works on it may stop. */
  end(): void {
    this.timer.cancel();
    this.controller.abort();
  }

  /** What `work` resolves with, or a refusal as soon as the turn is stopped. */
  until<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.stopped]);
  }
}

/** One question of a device at a time: a newer one ends the one before, whose asker is gone. */
export class Turns {
  private readonly open = new Map<string, Turn>();

  begin(clock: HubClock, deviceId: string): Turn {
    this.open.get(deviceId)?.stop('replaced');
    const turn = new Turn(clock);
    this.open.set(deviceId, turn);
    return turn;
  }

  end(deviceId: string, turn: Turn): void {
    turn.end();
    if (this.open.get(deviceId) === turn) this.open.delete(deviceId);
  }

  close(): void {
    for (const turn of this.open.values()) turn.stop('closing');
  }
}

/** Rejects with `Refusal` where there is no agent, or none of that name. */
export function agentFor(ctx: HubContext, tiny: string | undefined): Agent {
  if (tiny !== undefined) {
    throw new Refusal(404, 'there is no such tiny on this hub; leave "tiny" out to ask its agent');
  }
  if (!ctx.agent) {
    throw new Refusal(
      424,
      'this hub has no agent, so nothing was asked; whoever runs it must name one with ' +
        '`motebridge start --agent-url <url> --agent-model <name>` (`agent` in the options of a hub)',
    );
  }
  return ctx.agent;
}

/** What was said in a recording. */
export async function transcribed(
  ctx: HubContext,
  agent: Agent,
  device: DeviceRow,
  audioUrl: string,
  turn: Turn,
): Promise<string> {
  if (!agent.transcribe) {
    throw new Refusal(
      424,
      'the agent of this hub does not listen; nothing was asked, send text, or have it started ' +
        'with --agent-speech-model <name>',
    );
  }
  const { signal } = turn;
  const key = ownKey(ctx, audioUrl);
  const { bytes, type } =
    key === undefined
      ? await turn.until(fetched(ctx, device.owner_id, audioUrl, signal))
      : await hosted(ctx, device.owner_id, key);
  const said = await turn.until(guarded(ctx, agent.transcribe({ bytes, type, signal })));
  const text = cutText(said.trim(), TINY_LIMITS.askText);
  if (text === '') throw new Refusal(422, 'nothing was understood in the recording');
  return text;
}

/** A recording elsewhere: by the dialer of endpoint devices, which calls public addresses only. */
async function fetched(ctx: HubContext, ownerId: string, url: string, signal: AbortSignal) {
  let type = '';
  const head = (_status: number, headers: { 'content-type'?: string | undefined }) => {
    type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    if (!type.startsWith('audio/')) throw new CallFault('failed', 'it is no recording');
    return { most: TINY_LIMITS.askAudioBytes, tooBig: 'it is larger than 8 MB' };
  };
  try {
    const { bytes } = await ctx.endpoints.fetch(ownerId, url, { head, signal });
    if (bytes.length === 0) throw new CallFault('failed', 'it is empty');
    return { bytes, type };
  } catch (error) {
    // Too many calls are open: of its own statuses this route has none for that.
    if (error instanceof Refusal) throw new Refusal(424, error.message, error.flags);
    if (!(error instanceof CallFault)) throw error;
    throw new Refusal(
      422,
      `the recording could not be fetched, nothing was asked: ${error.message}`,
    );
  }
}

/** One of the owner's own media. */
async function hosted(ctx: HubContext, ownerId: string, key: string) {
  const found = mediaBy(ctx, ownerId, key);
  if (!found) throw new Refusal(422, 'there is no such recording; nothing was asked');
  if (!found.type.startsWith('audio/')) throw new Refusal(422, 'this medium is no recording');
  if (found.bytes === 0 || found.bytes > TINY_LIMITS.askAudioBytes) {
    throw new Refusal(422, 'the recording is empty or larger than 8 MB');
  }
  const bytes = await readFile(mediaFile(ctx, key)).catch(() => undefined);
  if (!bytes) throw new Refusal(422, 'the recording could not be read; nothing was asked');
  return { bytes, type: found.type };
}

/** Durable before the agent is asked. */
export async function keepQuestion(
  ctx: HubContext,
  device: DeviceRow,
  question: string,
): Promise<void> {
  const name = cutText(device.name, TINY_LIMITS.eventName);
  const event = await ctx.db.write((w) =>
    keepEvent(w, {
      ownerId: device.owner_id,
      device,
      kind: 'device_ask',
      detail: `${name}: ${cutText(question, QUESTION_SHOWN)}`,
      at: ctx.time.ms(),
    }),
  );
  ctx.bus.tell(device.owner_id, event);
}

export interface Answer {
  text: string;
  card: object | undefined;
}

/** Yields the answer's text in batches of words, and returns the whole of it. */
export async function* hear(
  ctx: HubContext,
  agent: Agent,
  question: Omit<Question, 'signal'>,
  turn: Turn,
): AsyncGenerator<string, Answer> {
  const reader = new AnswerReader();
  const pieces = iterate(agent, { ...question, signal: turn.signal });
  try {
    while (!reader.enough) {
      const next = await turn.until(guarded(ctx, pieces.next()));
      if (next.done === true) break;
      yield* reader.feed(next.value);
    }
  } finally {
    turn.end();
    // An agent that does not heed the signal must not hold up who asked.
    void pieces.return(undefined).catch(() => {});
  }
  yield* reader.end();
  const { card } = reader;
  // A card is an answer, too.
  if (reader.text === '' && card === undefined) {
    yield NO_ANSWER;
    return { text: NO_ANSWER, card };
  }
  return { text: reader.text, card };
}

async function* iterate(agent: Agent, question: Question): AsyncGenerator<string, void> {
  for await (const piece of agent.answer(question)) {
    if (typeof piece !== 'string') throw new TypeError('a piece of an answer must be text');
    yield piece;
  }
}

/** The agent's faults are told in the log; who asked hears that there is no answer. */
async function guarded<T>(ctx: HubContext, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    ctx.log.error({ err: error }, 'the agent failed');
    if (error instanceof AgentUnusable) {
      throw new Refusal(
        424,
        'the agent of this hub is not set up right, there is no answer; whoever runs the hub ' +
          'finds why in its log',
      );
    }
    throw new Refusal(424, 'the agent failed, there is no answer; ask again later', {
      retryable: true,
    });
  }
}
