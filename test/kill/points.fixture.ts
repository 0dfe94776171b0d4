/**
 * The points at which a process can be made to end itself, and what watches for them. The watch
 * stands between the parts of the real process (`Between`) and changes nothing that passes.
 *
 * Left out by name: the window of plain `PUT /relay`, where a poll that was answered and not
 * journaled is lost by that protocol itself. It is not spoken between our own hub and gateway.
 */
import { writeSync } from 'node:fs';
import type { Between } from '../../cli/stack.js';
import type { Journal } from '../../gateway/core/journal.js';
import type { Path, PathListener } from '../../gateway/core/types.js';
import type { Fetch, HubBody } from '../../gateway/doors/relay/client.js';
import { decodeMessage } from '../../protocol/codec.js';
import { readFrame } from '../../protocol/frame.js';
import type { Message } from '../../protocol/messages.js';
import type { Database, Sync } from '../../store/index.js';

/** Each with the process it lies in, and how often it is passed at most before it kills. */
export const POINTS = {
  /** Inside the hub's transaction, and after its commit but before anyone hears of it. */
  'hub: envelope in transaction': { side: 'hub', most: 12 },
  'hub: envelope committed': { side: 'hub', most: 12 },
  'hub: claim in transaction': { side: 'hub', most: 8 },
  'hub: claim committed': { side: 'hub', most: 4 },
  'hub: reply in transaction': { side: 'hub', most: 8 },
  'hub: reply committed': { side: 'hub', most: 4 },
  'offer arrives': { side: 'gateway', most: 12 },
  'before the call is journaled': { side: 'gateway', most: 12 },
  'call journaled, not claimed': { side: 'gateway', most: 12 },
  'before the claim is asked': { side: 'gateway', most: 3 },
  'claim answered, not read': { side: 'gateway', most: 3 },
  'before CALL goes out': { side: 'gateway', most: 12 },
  'after CALL went out': { side: 'gateway', most: 12 },
  'ACK arrives': { side: 'gateway', most: 12 },
  'RESULT arrives': { side: 'gateway', most: 12 },
  'before the outcome is journaled': { side: 'gateway', most: 12 },
  'outcome journaled': { side: 'gateway', most: 12 },
  'before SETTLED goes out': { side: 'gateway', most: 12 },
  'after SETTLED went out': { side: 'gateway', most: 12 },
  'before the reply is sent': { side: 'gateway', most: 3 },
  'reply answered, not read': { side: 'gateway', most: 3 },
  'before the report is journaled': { side: 'gateway', most: 12 },
  'report journaled': { side: 'gateway', most: 12 },
} as const satisfies Record<string, { side: 'hub' | 'gateway'; most: number }>;

export type Point = keyof typeof POINTS;

/** Ends this very process at the `times`-th pass of the armed point. */
export class Killer {
  #point: string | undefined;
  #left = 0;

  arm(point: string, times: number): void {
    this.#point = point;
    this.#left = times;
  }

  pass(point: Point): void {
    if (point !== this.#point || --this.#left > 0) return;
    // Straight to the pipe: this process has no later.
    writeSync(1, `killed ${point}\n`);
    process.kill(process.pid, 'SIGKILL');
  }
}

export function between(killer: Killer): Between {
  const pass = (point: Point): void => killer.pass(point);
  return {
    hubDatabase: (database) => watchedDatabase(database, pass),
    journal: (journal) => watchedJournal(journal, pass),
    listener: (gateway) => watchedListener(gateway, pass),
    fetch: (fetch) => watchedFetch(fetch, pass),
  };
}

type Pass = (point: Point) => void;

/** How the hub's statements begin that store what must not be lost. */
const STORES: [begin: string, what: 'envelope' | 'claim' | 'reply'][] = [
  ['insert into "envelopes"', 'envelope'],
  ['update "envelopes" set "delivered_ms"', 'claim'],
  ['insert into "replies"', 'reply'],
];

function watchedDatabase(database: Database, pass: Pass): Database {
  return {
    ...database,
    async write(run) {
      const stored = new Set<'envelope' | 'claim' | 'reply'>();
      const result = await database.write((w) => {
        const saw = <T>(sql: string, done: T): T => {
          const what = STORES.find(([begin]) => sql.startsWith(begin))?.[1];
          if (what === undefined) return done;
          stored.add(what);
          pass(`hub: ${what} in transaction`);
          return done;
        };
        const watched: Sync = {
          run: (sql, params) => saw(sql, w.run(sql, params)),
          get: <T>(sql: string, params?: Parameters<Sync['get']>[1]) =>
            saw(sql, w.get<T>(sql, params)),
          all: (sql, params) => w.all(sql, params),
        };
        return run(watched);
      });
      for (const what of stored) pass(`hub: ${what} committed`);
      return result;
    },
  };
}

function watchedJournal(journal: Journal, pass: Pass): Journal {
  return {
    ...journal,
    async admit(...args) {
      pass('before the call is journaled');
      const record = await journal.admit(...args);
      pass('call journaled, not claimed');
      return record;
    },
    async settle(...args) {
      pass('before the outcome is journaled');
      const first = await journal.settle(...args);
      pass('outcome journaled');
      return first;
    },
    async reported(key) {
      pass('before the report is journaled');
      await journal.reported(key);
      pass('report journaled');
    },
  };
}

function watchedListener(gateway: PathListener, pass: Pass): PathListener {
  const watched = new WeakMap<Path, Path>();
  const of = (path: Path): Path => {
    const known = watched.get(path) ?? watchedPath(path, pass);
    watched.set(path, known);
    return known;
  };
  return {
    opened: (path) => gateway.opened(of(path)),
    received(path, frame) {
      const type = typeOf(frame);
      if (type === 'ack') pass('ACK arrives');
      if (type === 'result') pass('RESULT arrives');
      gateway.received(of(path), frame);
    },
    closed: (path, reason) => gateway.closed(of(path), reason),
  };
}

function watchedPath(path: Path, pass: Pass): Path {
  const { boardId, via, mustSeal } = path;
  return {
    boardId,
    via,
    mustSeal,
    send(frame) {
      const type = typeOf(frame);
      if (type === 'call') pass('before CALL goes out');
      if (type === 'settled') pass('before SETTLED goes out');
      path.send(frame);
      // A turn later, when the socket has it.
      if (type === 'call') setImmediate(() => pass('after CALL went out'));
      if (type === 'settled') setImmediate(() => pass('after SETTLED went out'));
    },
    close: (reason) => path.close(reason),
  };
}

/** Undefined for what can't be read here; on loopback no board of these tests seals. */
function typeOf(frame: Uint8Array): Message['type'] | undefined {
  try {
    return decodeMessage(readFrame(frame).body).type;
  } catch {
    return undefined;
  }
}

function watchedFetch(fetch: Fetch, pass: Pass): Fetch {
  return async (url, init) => {
    const claim = url.endsWith('/claim');
    const reply = url.endsWith('/reply');
    if (claim) pass('before the claim is asked');
    if (reply) pass('before the reply is sent');
    const response = await fetch(url, init);
    if (claim) pass('claim answered, not read');
    if (reply) pass('reply answered, not read');
    const isStream = response.headers.get('content-type')?.includes('text/event-stream');
    return isStream && response.body
      ? { ...response, body: watchedStream(response.body, pass) }
      : response;
  };
}

function watchedStream(body: HubBody, pass: Pass): HubBody {
  const decoder = new TextDecoder();
  return {
    getReader() {
      const reader = body.getReader();
      return {
        async read() {
          const part = await reader.read();
          const text = decoder.decode(part.value, { stream: true });
          const offers = text.split('event: offer').length - 1;
          for (let i = 0; i < offers; i++) pass('offer arrives');
          return part;
        },
        cancel: () => reader.cancel(),
      };
    },
    cancel: () => body.cancel(),
  };
}
