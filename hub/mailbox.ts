/**
 * The relay mailbox (wire document, part A2): an envelope is delivered once, and its first
 * reply is the one that is read. Every promise resolves when what it says is durable.
 */
import {
  RELAY_OUTCOMES,
  RELAY_SAID,
  type RelayOutcomeCode,
  TINY_LIMITS,
} from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import type { DeviceRow } from './devices.js';
import { deviceById, ownedDevice } from './devices.js';
import { envelopeKind, lateEvent, lateNotice } from './envelope.js';
import { keepEvent, type StoredEvent } from './events.js';
import { newId } from './ids.js';
import {
  deliver,
  dropOldDelivered,
  dropOldLate,
  dropOldReplies,
  dropOldWaiting,
  type EnvelopeRow,
  envelopeById,
  insertEnvelope,
  insertReply,
  newestLate,
  replyByRef,
  setAnswered,
  waiting,
  waitingCount,
} from './mailbox-queries.js';
import { announce, type Notice } from './notices.js';
import { OFFERED_MS, offer } from './offer.js';
import { Refusal } from './refusal.js';

export type { EnvelopeRow };
export { OFFERED_MS, offer };

/** A delivered envelope and a reply are kept so long. */
export const KEPT_MS = TINY_LIMITS.keptS * 1000;
/** An envelope that nobody fetched is given to a device that polls for so long. */
export const POLLED_MS = (TINY_LIMITS.undeliveredS + TINY_LIMITS.undeliveredGraceS) * 1000;

/** One of the seven ways a send fails (statements 39 to 41). */
export function relayRefusal(code: RelayOutcomeCode, sentence: string): Refusal {
  const { status, delivered, retryable } = RELAY_OUTCOMES[code];
  return new Refusal(status, sentence, { code, delivered, retryable });
}

/** Part of a write: what is past its time goes. */
export function purge(w: Sync, nowMs: number): void {
  dropOldWaiting.run(w, { before: nowMs - POLLED_MS });
  dropOldDelivered.run(w, { before: nowMs - KEPT_MS });
  dropOldReplies.run(w, { before: nowMs - KEPT_MS });
  dropOldLate.run(w, { before: nowMs - KEPT_MS });
}

/** Ages count in seconds, so one purge in a second is enough. */
const purgedAt = new WeakMap<HubContext, number>();

/** Queues an envelope and offers it to the board's gateway. `payload` is JSON within the limit. */
export async function send(
  ctx: HubContext,
  ownerId: string,
  deviceId: string,
  payload: string,
  id = newId(),
): Promise<EnvelopeRow> {
  const device = ownedDevice(ctx, ownerId, deviceId);
  if (!device) throw relayRefusal('no_such_device', RELAY_SAID.deviceNotFound);
  if (device.kind === 'endpoint') throw relayRefusal('bad_request', RELAY_SAID.endpoint);
  const ms = ctx.time.ms();
  const kind = envelopeKind(payload);
  const row = await ctx.db.write((w): EnvelopeRow => {
    const second = Math.floor(ms / 1000);
    if (purgedAt.get(ctx) !== second) {
      purge(w, ms);
      purgedAt.set(ctx, second);
    }
    const queued = waitingCount.get(w, { device: deviceId })?.n ?? 0;
    if (queued >= ctx.limits.waiting) {
      throw relayRefusal(
        'bad_request',
        `${queued} envelopes wait for this device already; nothing was queued. ` +
          'Bring the device back, or revoke it.',
      );
    }
    const made = insertEnvelope.get(w, { id, owner: ownerId, device: deviceId, kind, payload, ms });
    return {
      seq: made?.seq ?? 0,
      id,
      owner_id: ownerId,
      device_id: deviceId,
      kind,
      payload,
      created_ms: ms,
      delivered_ms: null,
      claimed_by: null,
      answered_ms: null,
    };
  });
  offer(ctx, device.gateway_id, row, row.seq);
  return row;
}

/** What waits for a device, oldest first. */
export function waitingFor(
  ctx: HubContext,
  deviceId: string,
  forMs: number,
  limit: number,
): EnvelopeRow[] {
  const after = ctx.time.ms() - forMs;
  return ctx.db.read((r) => waiting.all(r, { device: deviceId, after, limit }));
}

/** Takes up to `max` envelopes out; each goes to one caller only (statement 42). */
export async function poll(
  ctx: HubContext,
  device: DeviceRow,
  max: number,
  by: string | null,
): Promise<EnvelopeRow[]> {
  // Most polls find nothing, and need no sync of the disk to say so.
  if (waitingFor(ctx, device.id, POLLED_MS, 1).length === 0) return [];
  const ms = ctx.time.ms();
  return ctx.db.write((w) =>
    waiting
      .all(w, { device: device.id, after: ms - POLLED_MS, limit: max })
      .filter((row) => deliver.run(w, { id: row.id, ms, by }) === 1),
  );
}

export type ClaimResult = 'claimed' | 'taken' | 'unknown' | 'answered';

/** Compare-and-set; the same gateway may ask again and hears the same. */
export async function claim(
  ctx: HubContext,
  gatewayId: string,
  ids: readonly string[],
): Promise<ClaimResult[]> {
  const ms = ctx.time.ms();
  const mine = gatewayDevices(ctx, gatewayId);
  return ctx.db.write((w) =>
    ids.map((id): ClaimResult => {
      const row = envelopeById.get(w, { id });
      if (!row || !mine(row.device_id)) return 'unknown';
      if (row.answered_ms !== null) return 'answered';
      if (row.claimed_by === gatewayId) return 'claimed';
      if (row.delivered_ms !== null) return 'taken';
      if (ms - row.created_ms >= OFFERED_MS) return 'unknown';
      return deliver.run(w, { id, ms, by: gatewayId }) === 1 ? 'claimed' : 'taken';
    }),
  );
}

/** Whether a device is this gateway's, remembered for one request. */
function gatewayDevices(ctx: HubContext, gatewayId: string): (deviceId: string) => boolean {
  const known = new Map<string, boolean>();
  return (deviceId) => {
    const found = known.get(deviceId);
    if (found !== undefined) return found;
    const row = deviceById(ctx, deviceId);
    const is = row?.gateway_id === gatewayId && row.revoked_at === null;
    known.set(deviceId, is);
    return is;
  };
}

export type AnswerResult = 'stored' | 'answered_before' | 'unknown';

export interface Answer {
  envelopeId: string;
  payload: string;
}

/** A device that answers for itself, or a gateway that claimed the envelope. */
export type Answerer = { device: DeviceRow } | { gatewayId: string };

/**
 * Keeps replies, the first one of each envelope for good (statement 47); the same answerer's
 * same reply counts as stored again.
 */
export async function answer(
  ctx: HubContext,
  by: Answerer,
  answers: readonly Answer[],
): Promise<AnswerResult[]> {
  const ms = ctx.time.ms();
  const done = await ctx.db.write((w) => answers.map((one) => answerOne(w, by, one, ms)));
  for (const [index, { stored, event, ownerId }] of done.entries()) {
    const one = answers[index];
    if (stored && one) ctx.waiters.answered(one.envelopeId, one.payload);
    if (event && ownerId !== undefined) ctx.bus.tell(ownerId, event);
  }
  for (const { notice, ownerId } of done) {
    if (notice && ownerId !== undefined) await announce(ctx, ownerId, notice);
  }
  return done.map((d) => d.result);
}

interface Done {
  result: AnswerResult;
  /** True where this very write stored it. */
  stored: boolean;
  event?: StoredEvent | undefined;
  notice?: Notice | undefined;
  ownerId?: string;
}

function answerOne(w: Sync, by: Answerer, one: Answer, ms: number): Done {
  const nothing = (result: AnswerResult): Done => ({ result, stored: false });
  const row = envelopeById.get(w, { id: one.envelopeId });
  if (!row || ms - row.created_ms >= KEPT_MS) return nothing('unknown');
  const mine = 'device' in by ? row.device_id === by.device.id : row.claimed_by === by.gatewayId;
  if (!mine) return nothing('unknown');
  if (row.answered_ms !== null) {
    const first = replyByRef.get(w, { owner: row.owner_id, ref: row.id, after: 0 });
    return nothing(first?.payload === one.payload ? 'stored' : 'answered_before');
  }
  insertReply.run(w, {
    id: newId(),
    owner: row.owner_id,
    device: row.device_id,
    gateway: 'device' in by ? null : by.gatewayId,
    ref: row.id,
    payload: one.payload,
    ms,
  });
  setAnswered.run(w, { id: row.id, ms });
  const late = lateEvent(w, row, ms);
  const event = late && keepEvent(w, late);
  const notice = late && lateNotice(w, row);
  return { result: 'stored', stored: true, event, notice, ownerId: row.owner_id };
}

export interface ReplyRow {
  id: string;
  payload: string;
  created_ms: number;
}

/** The reply to an envelope or a ticket; undefined for others' and for none (statement 46). */
export function readReply(ctx: HubContext, ownerId: string, ref: string): ReplyRow | undefined {
  const after = ctx.time.ms() - KEPT_MS;
  return ctx.db.read((r) => replyByRef.get(r, { owner: ownerId, ref, after }));
}

/** What a board answered after its outcome had been told (JSON). */
export function lateReply(ctx: HubContext, envelopeId: string): string | undefined {
  return ctx.db.read((r) => newestLate.get(r, { envelope: envelopeId }))?.payload;
}

export function envelopeOf(ctx: HubContext, ownerId: string, id: string): EnvelopeRow | undefined {
  const row = ctx.db.read((r) => envelopeById.get(r, { id }));
  return row && row.owner_id === ownerId ? row : undefined;
}

/** Part of a write: a reply under a ticket. False where the ticket had one already. */
export function deposit(
  w: Sync,
  by: { ownerId: string; deviceId: string | null; gatewayId: string | null },
  ref: string,
  payload: string,
  ms: number,
): boolean {
  return (
    insertReply.run(w, {
      id: newId(),
      owner: by.ownerId,
      device: by.deviceId,
      gateway: by.gatewayId,
      ref,
      payload,
      ms,
    }) === 1
  );
}
