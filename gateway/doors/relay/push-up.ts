/**
 * What goes up to the own hub, in batches with growing numbers: live things, and the journal's
 * items, which are forgotten only when the hub has acknowledged them.
 */
import { upReply } from '../../../protocol/gateway-api.js';
import type { Value } from '../../../protocol/kinds.js';
import { Backoff } from '../../core/backoff.js';
import type { BoardId, Presence, Progress, Timer } from '../../core/types.js';
import { HubUnreachable, isTransient } from './client.js';
import { type RelayDeps, ROOM } from './deps.js';
import { type Entry, type LinkState, Live } from './live.js';
import type { Media } from './media.js';
import { type Pending, pendingItems, putAside } from './pending.js';
import { upBody } from './up-items.js';

export interface UpDeps extends RelayDeps {
  token: string;
  deviceOf(boardId: BoardId): string | undefined;
  media: Pick<Media, 'recording'>;
}

type Sent = Entry & { pending?: Pending };

const MAX_ITEMS = 500;
const MAX_UNITS = 256 * 1024;
/** Live values within this time share a batch; the first goes at once. */
const COALESCE_MS = 250;
/** Numbers reserved in the journal at a time, so that a restart never uses one again. */
const BLOCK = 1_000_000;

export class UpPump {
  readonly #deps: UpDeps;
  readonly #live = new Live();
  readonly #backoff: Backoff;
  #seq: number;
  #reserved: number;
  #max = MAX_ITEMS;
  #sending = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #failing = false;
  /** Something came while a batch was under way. */
  #dirty = false;
  #stopped = false;

  constructor(deps: UpDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(500, 60_000, deps.random);
    this.#seq = Number(deps.journal.get(ROOM, 'push/seq')) || 0;
    this.#reserved = this.#seq;
  }

  presence(boardId: BoardId, presence: Presence): void {
    this.#live.presence(boardId, this.#wall(), presence);
    this.kick();
  }

  readings(boardId: BoardId, values: Record<string, Value>, at: number): void {
    this.#live.readings(boardId, Math.max(0, Math.round(at)), values);
    this.kick();
  }

  /** How the links are; the newest wins. */
  health(links: readonly LinkState[]): void {
    this.#live.health(this.#wall(), links);
    this.kick();
  }

  progress(boardId: BoardId, envelopeId: string, progress: Progress): void {
    this.#live.progress(envelopeId, boardId, this.#wall(), progress);
    this.kick();
  }

  /** Resolves when the hub has it; rejects if it never takes it. */
  late(boardId: BoardId, envelopeId: string, payload: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const refused = (why: string): void => reject(new Error(`the hub refused it: ${why}`));
      const at = this.#wall();
      this.#live.late(envelopeId, { boardId, at, payload, done: resolve, refused });
      this.kick();
    });
  }

  /** Something may wait. A back-off under way is cut short only by `now`. */
  kick(now = false): void {
    if (this.#stopped) return;
    if (this.#sending) {
      this.#dirty = true;
      return;
    }
    if (now && this.#failing) {
      this.#timer?.cancel();
      this.#timer = undefined;
    }
    if (!this.#timer) this.#soon();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #soon(): void {
    this.#after(Math.max(0, this.#lastAt + COALESCE_MS - this.#deps.clock.now()));
  }

  #after(ms: number): void {
    this.#timer = this.#deps.clock.after(ms, () => {
      this.#timer = undefined;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#sending || this.#stopped) return;
    this.#sending = true;
    this.#dirty = false;
    let batch: Sent[] = [];
    let wait: number | undefined;
    try {
      const taken = this.#batch(await this.#recordings());
      batch = taken.batch;
      if (batch.length > 0) {
        this.#lastAt = this.#deps.clock.now();
        await this.#send(batch);
        this.#max = MAX_ITEMS;
        if (taken.more) wait = 0;
      }
      this.#failing = false;
      this.#backoff.reset();
    } catch (error) {
      wait = await this.#failed(batch, error).catch(() => this.#backoff.next());
    }
    this.#sending = false;
    if (this.#stopped) return;
    if (wait !== undefined) this.#after(wait);
    else if (this.#dirty) this.#soon();
  }

  /** Puts back what was not taken; the wait before the next try. */
  async #failed(batch: Sent[], error: unknown): Promise<number> {
    const [first] = batch;
    if (!isTransient(error) && batch.length === 1 && first) {
      await this.#refuse(first, String(error));
      return 0;
    }
    for (const entry of batch) entry.again();
    if (!isTransient(error)) {
      // One of them is at fault: smaller batches find it and let the others through.
      this.#max = Math.max(1, Math.floor(batch.length / 2));
      return 0;
    }
    this.#failing = true;
    const wait = this.#backoff.next();
    this.#deps.counters.count('up.failed');
    this.#deps.log('nothing went up to the hub', { wait: Math.round(wait), error: String(error) });
    return wait;
  }

  async #send(batch: Sent[]): Promise<void> {
    const { client, journal, token } = this.#deps;
    await this.#reserve(batch.length);
    const bySeq = new Map<number, Sent>();
    for (const entry of batch) {
      this.#seq++;
      bySeq.set(this.#seq, entry);
    }
    const { ack, refused } = await client.ask({
      method: 'POST',
      path: '/api/gateway/v1/up',
      token,
      body: { items: [...bySeq].map(([seq, { body }]) => ({ ...body, seq })) },
      answer: upReply,
      deadlineMs: 20_000,
    });
    const why = new Map(refused.map((item) => [item.seq, item.why]));
    const stored: number[] = [];
    let left = 0;
    for (const [seq, entry] of bySeq) {
      const no = why.get(seq);
      if (no === undefined && seq > ack) {
        left++;
        continue;
      }
      entry.again = () => undefined;
      if (no !== undefined) await this.#refuse(entry, no);
      else if (entry.pending) stored.push(entry.pending.id);
      else entry.done?.();
    }
    if (stored.length > 0) await journal.done(stored);
    if (left > 0) throw new HubUnreachable(`the hub acknowledged all but ${left} items`);
  }

  async #refuse(entry: Sent, why: string): Promise<void> {
    this.#deps.counters.count('up.refused');
    entry.refused?.(why);
    if (entry.pending) await putAside(this.#deps, entry.pending, why);
    else this.#deps.log('the hub refused an item', { kind: entry.body.kind, why });
  }

  async #reserve(count: number): Promise<void> {
    if (this.#seq + count <= this.#reserved) return;
    const next = this.#reserved + BLOCK;
    await this.#deps.journal.put(ROOM, 'push/seq', String(next));
    this.#reserved = next;
  }

  /** `more`: there was no room for all that waits. */
  #batch(recordings: ReadonlyMap<number, string>): { batch: Sent[]; more: boolean } {
    const batch: Sent[] = [];
    let units = 0;
    let more = false;
    const add = (entry: Sent): boolean => {
      const size = JSON.stringify(entry.body).length;
      if (batch.length > 0 && (batch.length >= this.#max || units + size > MAX_UNITS)) {
        more = true;
        return false;
      }
      units += size;
      batch.push(entry);
      return true;
    };
    const { journal, deviceOf } = this.#deps;
    this.#live.take(deviceOf, add);
    const room = this.#max - batch.length;
    for (const pending of pendingItems(journal, room + 1, (p) => this.#mine(p))) {
      const { item, id } = pending;
      const body = upBody(item, deviceOf(item.boardId) ?? '', recordings.get(id));
      if (!add({ body, pending, again: () => undefined })) break;
    }
    return { batch, more };
  }

  /**
   * Where the recordings of waiting transcripts are hosted: they go up before the words do. One
   * that can't be had, or that the hub refuses, is counted, and its words go up alone.
   */
  async #recordings(): Promise<Map<number, string>> {
    const { journal, media, counters } = this.#deps;
    const urls = new Map<number, string>();
    for (const { id, item } of pendingItems(journal, this.#max, (p) => this.#mine(p))) {
      const { blobId } = item.body;
      if (item.kind !== 'transcript' || typeof blobId !== 'number') continue;
      try {
        const url = await media.recording(item.boardId, item.bootId, blobId);
        if (url === undefined) counters.count('recordings.missing');
        else urls.set(id, url);
      } catch (error) {
        if (isTransient(error)) throw error;
        counters.count('recordings.refused');
      }
    }
    return urls;
  }

  #mine({ item }: Pending): boolean {
    const { kind, boardId } = item;
    return kind !== 'ask' && kind !== 'mail' && this.#deps.deviceOf(boardId) !== undefined;
  }

  #wall(): number {
    return Math.max(0, Math.round(this.#deps.clock.wall()));
  }
}
