/**
 * Which packets of a broadcasting sensor are new. The air repeats them, delays them, and lets
 * anyone send them again.
 */

export type PacketNews = 'new' | 'repeat' | 'old';

/** Ids may be compared by their order this long; after a pause a sensor may have started anew. */
const ORDER_MS = 4_000;
/** Without an id the same bytes are a repetition until they were not heard for this long. */
const SAME_MS = 5_000;
/** Packets that are known again; some sensors take turns with two or three. */
const RECENT = 4;

/**
 * Plain packets: by the id that a sensor may put into them, else by their bytes. The same bytes
 * under the same id are never news: a sensor goes on sending its last press.
 */
export class PacketOrder {
  #recent: { readonly bytes: Uint8Array; heardAt: number }[] = [];
  #last: { readonly id: number; readonly at: number } | undefined;

  /** `now` in milliseconds on a clock that never jumps. */
  judge(bytes: Uint8Array, id: number | undefined, now: number): PacketNews {
    const same = this.#recent.find((each) => sameBytes(bytes, each.bytes));
    const repeated = same && (id !== undefined || now - same.heardAt < SAME_MS);
    if (same) same.heardAt = now;
    if (repeated) return 'repeat';
    if (id !== undefined && this.#last && now - this.#last.at <= ORDER_MS) {
      const ahead = (id - this.#last.id) & 0xff;
      if (ahead === 0) return 'repeat';
      if (ahead >= 128) return 'old';
    }
    if (!same) this.#recent = [{ bytes: bytes.slice(), heardAt: now }, ...this.#recent];
    this.#recent.length = Math.min(RECENT, this.#recent.length);
    if (id !== undefined) this.#last = { id, at: now };
    return 'new';
  }
}

export type CounterNews = 'new' | 'repeat' | 'replayed' | 'unproven' | 'restarted';

const COUNTERS = 2 ** 32;
const WRAP = 1_024;
/** A sensor that counts from below again must have been silent for this long … */
export const RESTART_QUIET_MS = 300_000;
/** … and then send so many packets, each above the one before, over so long. */
export const RESTART_PACKETS = 3;
export const RESTART_SPAN_MS = 30_000;

/**
 * Counters of encrypted packets that have verified. They must grow; what does not is a replay.
 *
 * Sensors lose their counter with their battery, and the format has nothing by which one that
 * starts anew could be told from a recording. So a lower counter is believed only after nothing
 * of the former run was heard for five minutes, and from the third growing packet on, half a
 * minute after the first; what the packets before it said is not taken. Someone who records a
 * sensor, keeps it from being heard, and plays a stretch of the recording passes for it: its
 * readings would be old ones, and the restart is counted.
 */
export class CounterGuard {
  #last: number | undefined;
  #lastAt: number;
  #restart: { counter: number; since: number; packets: number } | undefined;

  /** `last` is the counter that an earlier run of the gateway has kept. */
  constructor(now: number, last?: number) {
    this.#last = last;
    this.#lastAt = now;
  }

  get last(): number | undefined {
    return this.#last;
  }

  judge(counter: number, now: number): CounterNews {
    const last = this.#last;
    const wrapped = last !== undefined && last >= COUNTERS - WRAP && counter < WRAP;
    if (last === undefined || counter > last || wrapped) return this.#take(counter, now, 'new');
    if (counter === last) return 'repeat';
    if (now - this.#lastAt < RESTART_QUIET_MS) return 'replayed';
    const restart = this.#restart;
    if (!restart || counter < restart.counter) {
      this.#restart = { counter, since: now, packets: 1 };
      return 'unproven';
    }
    if (counter === restart.counter) return 'repeat';
    restart.counter = counter;
    restart.packets += 1;
    const proven = restart.packets >= RESTART_PACKETS && now - restart.since >= RESTART_SPAN_MS;
    return proven ? this.#take(counter, now, 'restarted') : 'unproven';
  }

  #take(counter: number, now: number, news: CounterNews): CounterNews {
    this.#last = counter;
    this.#lastAt = now;
    this.#restart = undefined;
    return news;
  }
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
