/**
 * Envelopes that the hub offers: held while their board can't be reached, journaled, claimed,
 * and only then released to the board (amendment 15). Every step may happen twice.
 */
import type { z } from 'zod';
import type { offerEvent } from '../../../protocol/gateway-api.js';
import { Backoff } from '../../core/backoff.js';
import type { CallRecord } from '../../core/journal.js';
import type { BoardId, BoardView, Timer } from '../../core/types.js';
import { admitEnvelope } from './admit.js';
import { callKey, envelopeOf, type RelayDeps } from './deps.js';
import type { Claim } from './push-requests.js';

export type Offer = z.infer<typeof offerEvent>;

export interface OffersDeps extends RelayDeps {
  boardOf(deviceId: string): BoardId | undefined;
  claim(envelopeId: string): Promise<Claim>;
  /** Asks the hub to offer everything undelivered again. */
  offerAgain(): void;
  /** Tells the hub an outcome that was reported before, as it seems to have forgotten. */
  repeat(record: CallRecord): void;
}

/** Offers held for one board, and the units of all held payloads; more are asked for again. */
const HELD_A_BOARD = 64;
const HELD_UNITS = 4 * 1024 * 1024;
/** Longer ids are none that the claim route takes. */
const MAX_ID = 64;

type Step = 'admitting' | 'claiming' | 'running' | 'cancelled';

export class Offers {
  readonly #deps: OffersDeps;
  /** By device, oldest first. */
  readonly #held = new Map<string, Map<string, Offer>>();
  #heldUnits = 0;
  /** Devices of which the hub has more offers than are held here. */
  readonly #more = new Set<string>();
  readonly #steps = new Map<string, Step>();
  /** Offers that the journal could not take, or whose board was gone in between. */
  #stalled: Offer[] = [];
  #journalDown = false;
  #timer: Timer | undefined;
  readonly #backoff: Backoff;
  #stopped = false;

  constructor(deps: OffersDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(500, 60_000, deps.random);
  }

  get held(): number {
    let count = this.#stalled.length;
    for (const offers of this.#held.values()) count += offers.size;
    return count;
  }

  get running(): number {
    return this.#steps.size;
  }

  isClaimed(envelopeId: string): boolean {
    return this.#steps.get(envelopeId) === 'running';
  }

  offer(offer: Offer): void {
    const id = offer.envelope_id;
    if (id === '' || id.length > MAX_ID) {
      this.#deps.counters.count('offers.bad_id');
      return;
    }
    if (this.#steps.has(id) || this.#held.get(offer.device_id)?.has(id)) return;
    if (this.#stalled.some((stalled) => stalled.envelope_id === id)) return;
    const known = this.#deps.journal.find(callKey('push', id));
    if (known?.outcome && known.reported) {
      this.#deps.counters.count('offers.repeated');
      this.#deps.repeat(known);
      return;
    }
    if (this.#ready(offer)) this.#take(offer);
    else this.#hold(offer);
  }

  /** The sender, or the hub, wants an envelope no more. */
  cancel(envelopeId: string): void {
    this.#deps.counters.count('offers.cancelled');
    for (const offers of this.#held.values()) this.#unhold(offers, envelopeId);
    this.#stalled = this.#stalled.filter((offer) => offer.envelope_id !== envelopeId);
    const step = this.#steps.get(envelopeId);
    if (step === 'admitting') this.#steps.set(envelopeId, 'cancelled');
    else if (step !== undefined) this.#deps.switchboard.cancel(callKey('push', envelopeId));
  }

  /** A board came online, or the hub has learnt of it: its offers are taken up. */
  boardReady(deviceId: string): void {
    const offers = this.#held.get(deviceId);
    for (const offer of [...(offers?.values() ?? [])]) {
      if (!this.#ready(offer)) break;
      if (offers) this.#unhold(offers, offer.envelope_id);
      this.#take(offer);
    }
    if (this.#more.has(deviceId) && (offers?.size ?? 0) === 0) {
      this.#more.delete(deviceId);
      this.#deps.offerAgain();
    }
  }

  /** A call of an earlier run of this process: is its claim ours? */
  resume(record: CallRecord): void {
    const { envelopeId } = envelopeOf(record.call.key);
    if (this.#steps.has(envelopeId)) return;
    void this.#claim(record.call.key, envelopeId);
  }

  /** The outcome is at the hub, or will never be. */
  finished(envelopeId: string): void {
    this.#steps.delete(envelopeId);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #board(offer: Offer): BoardView | undefined {
    const boardId = this.#deps.boardOf(offer.device_id);
    return boardId === undefined ? undefined : this.#deps.switchboard.board(boardId);
  }

  #ready(offer: Offer): boolean {
    const board = this.#board(offer);
    return board?.presence.state === 'online' && board.catalog !== undefined;
  }

  #hold(offer: Offer): void {
    const offers = this.#held.get(offer.device_id) ?? new Map<string, Offer>();
    const units = offer.payload.length;
    if (offers.size >= HELD_A_BOARD || this.#heldUnits + units > HELD_UNITS) {
      this.#deps.counters.count('offers.not_held');
      this.#more.add(offer.device_id);
      return;
    }
    this.#held.set(offer.device_id, offers);
    offers.set(offer.envelope_id, offer);
    this.#heldUnits += units;
  }

  #unhold(offers: Map<string, Offer>, envelopeId: string): void {
    const offer = offers.get(envelopeId);
    if (!offer) return;
    offers.delete(envelopeId);
    if (offers.size === 0) this.#held.delete(offer.device_id);
    this.#heldUnits -= offer.payload.length;
  }

  #take(offer: Offer): void {
    // While the journal takes nothing, nothing is tried: the first of them is the probe.
    if (this.#journalDown) this.#stall(offer);
    else void this.#admit(offer);
  }

  async #admit(offer: Offer): Promise<void> {
    const id = offer.envelope_id;
    const board = this.#board(offer);
    if (!board?.catalog) return this.#hold(offer);
    this.#steps.set(id, 'admitting');
    const key = callKey('push', id);
    let record: CallRecord;
    try {
      const { id: boardId, catalog } = board;
      record = await admitEnvelope(this.#deps, key, { id: boardId, catalog }, offer.payload);
    } catch (error) {
      this.#steps.delete(id);
      this.#journalDown = true;
      this.#deps.counters.count('offers.journal_down');
      this.#deps.log('an envelope could not be journaled and stays unclaimed', {
        error: String(error),
      });
      this.#stall(offer);
      return;
    }
    this.#recovered();
    if (this.#steps.get(id) === 'cancelled' || this.#stopped) {
      await this.#drop(key, id);
    } else if (record.outcome?.kind === 'unreachable' && !record.reported) {
      // The board went in between: the envelope stays with the hub, whose expiry rules hold.
      await this.#drop(key, id);
      if (this.#ready(offer)) this.#stall(offer);
      else this.#hold(offer);
    } else await this.#claim(key, id);
  }

  async #claim(key: string, envelopeId: string): Promise<void> {
    this.#steps.set(envelopeId, 'claiming');
    let claim: Claim;
    try {
      claim = await this.#deps.claim(envelopeId);
    } catch (error) {
      // Only at the end of this process, or for an id that the hub can't read.
      this.#steps.delete(envelopeId);
      if (this.#stopped) return;
      this.#deps.log('an envelope could not be claimed', {
        envelope: envelopeId,
        error: String(error),
      });
      return this.#drop(key, envelopeId);
    }
    if (claim.held) {
      this.#steps.set(envelopeId, 'running');
      this.#deps.switchboard.release(key);
      return;
    }
    this.#deps.counters.count(`claims.${claim.why}`);
    await this.#drop(key, envelopeId);
  }

  async #drop(key: string, envelopeId: string): Promise<void> {
    this.#steps.delete(envelopeId);
    try {
      await this.#deps.switchboard.drop(key);
    } catch (error) {
      // It is open in the journal still; the next start asks for its claim again.
      this.#deps.log('a call could not be forgotten', { key, error: String(error) });
    }
  }

  #stall(offer: Offer): void {
    const units = this.#stalled.reduce((sum, { payload }) => sum + payload.length, 0);
    if (units + offer.payload.length > HELD_UNITS) {
      this.#deps.counters.count('offers.not_held');
      this.#more.add(offer.device_id);
    } else this.#stalled.push(offer);
    if (this.#timer || this.#stopped) return;
    this.#timer = this.#deps.clock.after(this.#backoff.next(), () => {
      this.#timer = undefined;
      this.#probe();
    });
  }

  /** One of the stalled is tried; the others follow when it went through. */
  #probe(): void {
    const offer = this.#stalled.shift();
    if (!offer) this.#recovered();
    else if (this.#ready(offer)) void this.#admit(offer);
    else {
      this.#hold(offer);
      this.#probe();
    }
  }

  #recovered(): void {
    this.#journalDown = false;
    this.#backoff.reset();
    if (this.#timer) return;
    const stalled = this.#stalled;
    this.#stalled = [];
    for (const offer of stalled) this.offer(offer);
    if (this.#stalled.length > 0 || this.#more.size === 0) return;
    for (const deviceId of [...this.#more]) this.boardReady(deviceId);
  }
}
