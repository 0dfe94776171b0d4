/**
 * What waits to go up and is not in the journal: presence and readings (newest wins), progress,
 * and late results. Taking something out is undone by its `again`.
 */
import type { Value } from '../../../protocol/kinds.js';
import type { BoardId, Presence, Progress } from '../../core/types.js';
import { plainJson } from '../prompt/plain.js';
import { presenceOf, type Unnumbered } from './up-items.js';

export interface Entry {
  body: Unnumbered;
  /** The hub has it. */
  done?: () => void;
  /** The hub will never take it. */
  refused?: (why: string) => void;
  /** Puts it back where it waits, unless something newer stands there. */
  again: () => void;
}

/** One link as the hub shows it; `lastHeardAt` is unix milliseconds. */
export interface LinkState {
  via: string;
  state: string;
  lastHeardAt?: number;
}

interface Late {
  boardId: BoardId;
  at: number;
  payload: string;
  done: () => void;
  refused: (why: string) => void;
}

type Device = (boardId: BoardId) => string | undefined;

export class Live {
  #health: { at: number; links: readonly LinkState[] } | undefined;
  readonly #presence = new Map<BoardId, { at: number; presence: Presence }>();
  readonly #readings = new Map<BoardId, { at: number; values: Record<string, Value> }>();
  readonly #progress = new Map<string, { boardId: BoardId; at: number; progress: Progress }>();
  readonly #late = new Map<string, Late>();

  health(at: number, links: readonly LinkState[]): void {
    this.#health = { at, links };
  }

  presence(boardId: BoardId, at: number, presence: Presence): void {
    this.#presence.set(boardId, { at, presence });
  }

  readings(boardId: BoardId, at: number, values: Record<string, Value>): void {
    const before = this.#readings.get(boardId)?.values;
    this.#readings.set(boardId, { at, values: { ...before, ...values } });
  }

  progress(envelopeId: string, boardId: BoardId, at: number, progress: Progress): void {
    this.#progress.set(envelopeId, { boardId, at, progress });
  }

  late(envelopeId: string, late: Late): void {
    this.#late.set(envelopeId, late);
  }

  /** Offers what waits for known devices to `add`, until that has no more room. */
  take(deviceOf: Device, add: (entry: Entry) => boolean): void {
    if (!this.#takeHealth(add)) return;
    if (!this.#takeLate(deviceOf, add) || !this.#takePresence(deviceOf, add)) return;
    if (this.#takeReadings(deviceOf, add)) this.#takeProgress(deviceOf, add);
  }

  #takeHealth(add: (entry: Entry) => boolean): boolean {
    const health = this.#health;
    if (!health) return true;
    const links = health.links.map(({ via, state, lastHeardAt }) => ({
      via,
      state,
      ...(lastHeardAt === undefined ? {} : { lastHeardAt: Math.max(0, Math.round(lastHeardAt)) }),
    }));
    const again = (): void => {
      this.#health ??= health;
    };
    if (!add({ body: { kind: 'health', at: health.at, links }, again })) return false;
    this.#health = undefined;
    return true;
  }

  #takeLate(deviceOf: Device, add: (entry: Entry) => boolean): boolean {
    return drain(this.#late, (envelope_id, { boardId, at, payload, done, refused }, again) => {
      const device_id = deviceOf(boardId);
      if (device_id === undefined) return 'skip';
      const body: Unnumbered = { kind: 'late', device_id, at, envelope_id, payload };
      return add({ body, done, refused, again });
    });
  }

  #takePresence(deviceOf: Device, add: (entry: Entry) => boolean): boolean {
    return drain(this.#presence, (boardId, { at, presence }, again) => {
      const device_id = deviceOf(boardId);
      if (device_id === undefined) return 'skip';
      return add({
        body: { kind: 'presence', device_id, at, presence: presenceOf(presence) },
        again,
      });
    });
  }

  #takeReadings(deviceOf: Device, add: (entry: Entry) => boolean): boolean {
    return drain(this.#readings, (boardId, { at, values: taken }) => {
      const device_id = deviceOf(boardId);
      if (device_id === undefined) return 'skip';
      const values = plainJson(taken) as Record<string, unknown>;
      const again = (): void => {
        const newer = this.#readings.get(boardId);
        this.#readings.set(boardId, {
          at: newer?.at ?? at,
          values: { ...taken, ...newer?.values },
        });
      };
      return add({ body: { kind: 'readings', device_id, at, values, stored: false }, again });
    });
  }

  #takeProgress(deviceOf: Device, add: (entry: Entry) => boolean): boolean {
    return drain(this.#progress, (envelope_id, { boardId, at, progress }, again) => {
      const device_id = deviceOf(boardId);
      if (device_id === undefined) return 'skip';
      const { percent, note } = progress;
      const body: Unnumbered = { kind: 'progress', device_id, at, envelope_id };
      if (percent !== undefined) body.percent = percent;
      if (note !== undefined) body.note = note;
      return add({ body, again });
    });
  }
}

/** Takes out what `take` accepts; false as soon as it has no more room. */
function drain<V>(
  map: Map<string, V>,
  take: (key: string, value: V, again: () => void) => boolean | 'skip',
): boolean {
  for (const [key, value] of map) {
    const taken = take(key, value, () => {
      if (!map.has(key)) map.set(key, value);
    });
    if (taken === 'skip') continue;
    if (!taken) return false;
    map.delete(key);
  }
  return true;
}
