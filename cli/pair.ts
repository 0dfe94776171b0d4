/** `motebridge pair`: with a code it asks nothing; without one, on a terminal, it asks. */
import { z } from 'zod';
import { parseSetupCode, SetupCodeError } from '../protocol/setup-code.js';
import { boardShape } from './board-admin.js';
import { askControl, ControlGone } from './control.js';
import { CliError, EXIT, type ExitCode, usage } from './fault.js';
import { chooseHome, readCredentials } from './home.js';
import { type Io, note, print, printJson } from './io.js';
import {
  type PairRequest,
  type PairState,
  pairStateShape,
  type SightingShown,
  sightingShape,
} from './pair-admin.js';
import type { PairFlags, Talk } from './pair-types.js';
import { bars, idOf, needs } from './sighting-words.js';
import { clean, table } from './text.js';

export type AskPairing = (request: PairRequest) => Promise<unknown>;

const SCAN_MS = 4_000;
const POLL_MS = 200;
const STEPS: Readonly<Record<PairState['steps'][number], string>> = {
  looking: 'Looking for the board',
  connecting: 'Connecting',
  provisioning: 'Giving it a key of its own',
  storing: 'Keeping the key',
  greeting: 'Waiting for it to speak under that key',
};

export async function runPair(io: Io, code: string | undefined, flags: PairFlags): Promise<void> {
  const ask = askRunning(io, flags.home);
  if (flags.list === true) return list(io, ask, flags);
  if (code !== undefined) return byCode(io, ask, code, flags);
  if (flags.address !== undefined) return byAddress(io, ask, flags.address, flags);
  if (flags.json === true || !io.stdin.isTTY || !io.stderr.isTTY) {
    throw usage(
      'Give the set-up code, as in `motebridge pair MOTE1:…`; --list shows what is heard.',
    );
  }
  const { clackTalk } = await import('./pair-talk.js');
  await talked(ask, clackTalk(), flags);
}

export function askRunning(io: Io, home: string | undefined, ms?: number): AskPairing {
  const gone = (): CliError =>
    new CliError(
      'not_running',
      'Motebridge is not running here, so nothing was done; start it in another terminal with `motebridge start --ble hci0`.',
      EXIT.unreachable,
    );
  return async (request) => {
    const control = readCredentials(chooseHome(io.env, home).path)?.control;
    if (control === undefined) throw gone();
    return askControl(control, 'pairing', request, ms).catch((error) => {
      throw error instanceof ControlGone ? gone() : error;
    });
  };
}

async function scan(ask: AskPairing): Promise<SightingShown[]> {
  return z.array(sightingShape).parse(await ask({ op: 'scan', ms: SCAN_MS }));
}

async function list(io: Io, ask: AskPairing, flags: PairFlags): Promise<void> {
  const heard = await scan(ask);
  if (flags.json === true) return printJson(io, heard);
  if (heard.length === 0) {
    return print(io, 'No board is heard; see that it is on, near, and not connected elsewhere.');
  }
  const rows = heard.map((s) => [bars(s.rssi), clean(s.name), s.address, idOf(s), needs(s)]);
  print(io, table(['', 'NAME', 'ADDRESS', 'ID', 'NEEDS'], rows));
}

async function byCode(io: Io, ask: AskPairing, code: string, flags: PairFlags): Promise<void> {
  const said = flags.json === true ? () => undefined : (words: string) => note(io, `${words} …`);
  const board = await pair(ask, { code, name: flags.name, address: flags.address }, said);
  if (flags.json === true) printJson(io, { ok: true, ...board });
  else print(io, outcome(board));
}

async function byAddress(
  io: Io,
  ask: AskPairing,
  address: string,
  flags: PairFlags,
): Promise<void> {
  // What was not heard lately is listened for first.
  await scan(ask);
  const { name, bindKey } = flags;
  const board = boardShape.parse(await ask({ op: 'add', address, name, bindKey }));
  if (flags.json === true) printJson(io, { ok: true, ...board });
  else print(io, `Added ${clean(board.name)} (${board.id}).`);
}

/** Scans, lists, asks for what the board needs, pairs, and says how it went. */
export async function talked(ask: AskPairing, talk: Talk, flags: PairFlags): Promise<void> {
  let seen: SightingShown | 'again' | undefined = 'again';
  while (seen === 'again') seen = await talk.choose(await talk.looking(scan(ask)));
  if (seen === undefined) return talk.end('Nothing was paired.');
  const about = seen;
  const wrong = (text: string): string | undefined => wrongFor(about, text);
  if (about.needs === 'code') {
    const code = await talk.text('Its set-up code, or the text of its QR code', wrong);
    if (code === undefined) return talk.end('Nothing was paired.');
    const wish = { code, name: flags.name, address: about.address };
    return talk.end(outcome(await pair(ask, wish, (words) => talk.step(words))));
  }
  const key =
    about.needs === 'none' ? undefined : await talk.text('Its bind key, 32 hex digits', wrong);
  if (about.needs === 'bind_key' && key === undefined) return talk.end('Nothing was added.');
  const request = { op: 'add', address: about.address, name: flags.name, bindKey: key } as const;
  const board = boardShape.parse(await ask(request));
  talk.end(`Added ${clean(board.name)} (${board.id}).`);
}

function wrongFor({ needs: wanted, idPrefix }: SightingShown, text: string): string | undefined {
  if (wanted === 'bind_key') {
    return /^[0-9a-f]{32}$/i.test(text.replaceAll(/[\s:-]/g, ''))
      ? undefined
      : 'A bind key is 32 hex digits; its maker’s app shows it.';
  }
  try {
    const { boardId } = parseSetupCode(text);
    if (idPrefix === undefined || boardId.startsWith(idPrefix)) return undefined;
    return 'This code is for another board; read it from the one that you chose.';
  } catch (error) {
    if (error instanceof SetupCodeError) return error.message;
    throw error;
  }
}

interface PairedBoard {
  id: string;
  name: string;
  online: boolean;
}

/** Begins and asks until it is over: it takes longer than one request may. */
export async function pair(
  ask: AskPairing,
  wish: { code: string; name?: string | undefined; address?: string | undefined },
  said: (words: string) => void,
): Promise<PairedBoard> {
  const begun = await ask({ op: 'begin', ...wish });
  const { ticket } = z.object({ ticket: z.string() }).parse(begun);
  let told = 0;
  for (;;) {
    const state = pairStateShape.parse(await ask({ op: 'state', ticket }));
    for (const step of state.steps.slice(told)) said(STEPS[step]);
    told = state.steps.length;
    if (state.board !== undefined) return state.board;
    if (state.error !== undefined) {
      const { code, message, exit } = state.error;
      const known = Object.values(EXIT).find((value): value is ExitCode => value === exit);
      throw new CliError(code, message, known ?? EXIT.failed);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

function outcome({ id, name, online }: PairedBoard): string {
  const there = online
    ? 'It is online.'
    : 'It has its key and comes online when it is heard again.';
  return `Paired ${clean(name)} (${id}). ${there}`;
}
