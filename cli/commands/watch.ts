import type { Command } from 'commander';
import type { Context } from '../context.js';
import { follow, type StreamItem } from '../follow.js';
import { type Io, note, print, printJson } from '../io.js';
import type { HubFlags } from '../target.js';
import { oneLine } from '../text.js';
import { hubFrom, type JsonFlag, whole, withHub, withJson } from './options.js';

interface Flags extends HubFlags, JsonFlag {
  count?: number;
}

export function addWatch(program: Command, { io }: Context): void {
  const command = program
    .command('watch')
    .description('print events, presence and readings as they come; Ctrl-C ends it')
    .option('--count <n>', 'end after this many lines', whole(1, 1_000_000));
  withJson(withHub(command), 'one JSON object per line (not one document): {"type":…, …}');
  command.action(async (flags: Flags) => {
    const stop = new AbortController();
    const forget = io.onStop(() => stop.abort());
    let printed = 0;
    let lost = false;
    try {
      await follow(hubFrom(io, flags), {
        signal: stop.signal,
        item: (item) => {
          if (stop.signal.aborted) return;
          if (flags.json === true) printJson(io, { ...item.data, type: item.type });
          else print(io, line(item));
          printed += 1;
          if (printed === flags.count) stop.abort();
        },
        state: (state) => {
          if (state === 'lost') sayLost(io);
          else if (lost) note(io, 'motebridge: connected again.');
          lost = state === 'lost';
        },
      });
    } finally {
      forget();
    }
  });
}

function sayLost(io: Io): void {
  note(io, 'motebridge: the hub is gone for now; trying again, Ctrl-C ends this.');
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

/** One line for people: time, board, what. */
export function line({ type, data }: StreamItem): string {
  const when = time(data.at ?? data.created);
  const name = oneLine(text(data.name), 40);
  if (type === 'presence') return `${when}  ${name}  ${presenceWords(data.presence)}`;
  if (type === 'readings') return `${when}  ${name}  ${readingWords(data.values)}`;
  const kind = type === 'event' ? text(data.kind) : type;
  const detail = type === 'event' ? text(data.detail) : text(data);
  return `${when}  ${oneLine(kind, 40)}  ${oneLine(detail, 400)}`;
}

function presenceWords(presence: unknown): string {
  if (typeof presence !== 'object' || presence === null) return oneLine(text(presence));
  const state = 'state' in presence ? oneLine(text(presence.state), 40) : 'unknown';
  const until = 'until' in presence ? presence.until : undefined;
  return typeof until === 'number' ? `${state} until ${time(until)}` : state;
}

function readingWords(values: unknown): string {
  if (typeof values !== 'object' || values === null) return oneLine(text(values));
  return Object.entries(values)
    .map(([name, value]) => `${oneLine(name, 40)} ${oneLine(text(value), 80)}`)
    .join(', ');
}

/** Local `HH:MM:SS` of unix seconds or milliseconds; now, where the hub gave no time. */
function time(stamp: unknown): string {
  const given = typeof stamp === 'number' && Number.isFinite(stamp) ? stamp : Date.now();
  const date = new Date(given < 100_000_000_000 ? given * 1000 : given);
  if (Number.isNaN(date.getTime())) return '--:--:--';
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
