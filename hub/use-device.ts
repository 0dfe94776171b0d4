/** `use_device`: the tool by which an owner's agent lists boards, calls them, reads results (A9). */
import { z } from 'zod';
import { cutText, payloadText, RELAY_SAID } from '../protocol/tiny.js';
import type { PresenceView } from './bus.js';
import { cancel } from './cancel.js';
import type { HubContext } from './context.js';
import { type DeviceRow, devicesOf, ownedDevice } from './devices.js';
import { invokeEndpoint } from './endpoint/invoke.js';
import { newId } from './ids.js';
import { envelopeOf, lateReply, readReply, relayRefusal, send } from './mailbox.js';
import { type Answered, type NotDone, type Pending, readOutcome } from './outcome.js';
import { presenceOf } from './presence.js';
import { Refusal } from './refusal.js';

/** Why an endpoint device is neither online nor offline (statement 105). */
const ON_CALL = 'called by its URL: whether it answers is known only by calling it';
const WAIT_MS = 45_000;
const MOST_MS = 600_000;

export const useDeviceRequest = z.object({
  action: z.enum(['list', 'invoke', 'result', 'cancel'], {
    error: 'action must be list | invoke | result | cancel',
  }),
  /** An id, or the exact name of one live device. */
  device_id: z.string().max(200).optional(),
  prompt: z.string().optional(),
  wait: z.boolean().optional(),
  timeout_ms: z.number().int().min(0).max(MOST_MS).optional(),
  envelope_id: z.string().max(200).optional(),
});
export type UseDeviceRequest = z.infer<typeof useDeviceRequest>;

export interface Listed {
  ok: true;
  devices: unknown[];
}
export type UseDeviceReply = Answered | NotDone | Pending | Listed;

/**
 * Rejects with `Refusal` for usage errors and where nothing could be sent, else answers. When
 * `signal` is aborted, the call that is being waited for is cancelled; how that went is answered.
 */
export async function useDevice(
  ctx: HubContext,
  ownerId: string,
  request: UseDeviceRequest,
  signal?: AbortSignal,
): Promise<UseDeviceReply> {
  switch (request.action) {
    case 'list':
      return { ok: true, devices: list(ctx, ownerId) };
    case 'invoke':
      return invoke(ctx, ownerId, request, signal);
    case 'result':
      return result(ctx, ownerId, needed(request.envelope_id, 'envelope_id'));
    case 'cancel':
      return cancel(ctx, ownerId, needed(request.envelope_id, 'envelope_id'));
  }
}

function needed(value: string | undefined, name: string): string {
  if (value === undefined || value.trim() === '') throw new Refusal(400, `${name} required`);
  return value;
}

function list(ctx: HubContext, ownerId: string) {
  const rows = devicesOf(ctx, ownerId);
  const newestOf = new Map<string, string>();
  for (const row of rows) if (!newestOf.has(row.name)) newestOf.set(row.name, row.id);
  const now = ctx.time.seconds();
  return rows.map((row) => {
    const called = row.kind === 'endpoint';
    const presence = presenceOf(ctx, row);
    const twins = rows.filter((other) => other.name === row.name).length > 1;
    return {
      id: row.id,
      name: row.name,
      kind: row.kind,
      platform: row.platform,
      capabilities: JSON.parse(row.capabilities),
      online: called ? null : presence.state === 'online',
      ...(called ? { url: row.url, note: ON_CALL } : { presence }),
      last_seen_seconds_ago: row.last_seen === null ? null : Math.max(0, now - row.last_seen),
      ...(twins && newestOf.get(row.name) === row.id ? { current_for_name: true } : {}),
      ...(twins && newestOf.get(row.name) !== row.id ? { superseded: true } : {}),
      ...(row.catalog === null ? {} : { catalog: JSON.parse(row.catalog) }),
    };
  });
}

/** By id, or by the exact name where only one live device has it. */
export function findDevice(ctx: HubContext, ownerId: string, wanted: string): DeviceRow {
  const byId = ownedDevice(ctx, ownerId, wanted);
  if (byId) return byId;
  const named = devicesOf(ctx, ownerId).filter((row) => row.name === wanted);
  const [only] = named;
  if (only && named.length === 1) return only;
  if (only) {
    throw relayRefusal(
      'bad_request',
      `${named.length} devices are named "${cutText(wanted, 64)}"; use one of their ids`,
    );
  }
  throw relayRefusal('no_such_device', RELAY_SAID.deviceNotFound);
}

async function invoke(
  ctx: HubContext,
  ownerId: string,
  request: UseDeviceRequest,
  signal?: AbortSignal,
): Promise<UseDeviceReply> {
  const wanted = needed(request.device_id, 'device_id');
  const prompt = needed(request.prompt, 'prompt');
  const payload = payloadText({ type: 'invoke', prompt });
  if (payload === undefined) throw relayRefusal('too_big', 'prompt must fit 8,192 characters');
  const device = findDevice(ctx, ownerId, wanted);
  if (device.kind === 'endpoint') {
    return invokeEndpoint(ctx, device, prompt, request.timeout_ms, signal);
  }
  const presence = presenceOf(ctx, device);
  const isBoard = device.gateway_id !== null && !ctx.tinyOnly;
  if (isBoard && presence.state === 'unreachable') return unreachable(device, presence);

  const envelopeId = newId();
  const ids = { device_id: device.id, envelope_id: envelopeId };
  const waitMs = request.wait === false ? 0 : (request.timeout_ms ?? WAIT_MS);
  const asleep = isBoard && presence.state === 'asleep' ? presence.until : undefined;
  const backInMs = asleep === undefined ? 0 : asleep - ctx.time.ms();
  if (waitMs === 0 || backInMs > waitMs) {
    await send(ctx, ownerId, device.id, payload, envelopeId);
    return pending(ids, asleep, request.wait === false);
  }
  // Waits before it sends: the answer may be there before this function goes on.
  let heard: (payload: string | undefined) => void = () => {};
  const reply = new Promise<string | undefined>((resolve) => {
    heard = resolve;
  });
  const stop = ctx.waiters.wait(envelopeId, heard);
  const timer = ctx.clock.after(waitMs, () => heard(undefined));
  const takeBack = (): void => {
    cancel(ctx, ownerId, envelopeId).catch((error) => {
      ctx.log.error({ err: error, envelope: envelopeId }, 'a call could not be cancelled');
    });
  };
  try {
    await send(ctx, ownerId, device.id, payload, envelopeId);
    if (signal?.aborted) takeBack();
    else signal?.addEventListener('abort', takeBack);
    const text = await reply;
    return text === undefined ? pending(ids, asleep, false) : readOutcome(ctx, text, ids);
  } finally {
    timer.cancel();
    stop();
    signal?.removeEventListener('abort', takeBack);
  }
}

function unreachable(device: DeviceRow, presence: PresenceView): NotDone {
  const since =
    presence.since === 0
      ? 'has not been heard of yet'
      : `is unreachable since ${iso(presence.since)}`;
  return {
    ok: false,
    outcome: 'unreachable',
    error: {
      code: 'unreachable',
      message: `${device.name} ${since}; nothing was sent. Try again when it is back.`,
    },
    device_id: device.id,
  };
}

const iso = (ms: number): string => new Date(Math.min(ms, 8.64e15)).toISOString();

function pending(
  ids: { device_id: string; envelope_id: string },
  until: number | undefined,
  background: boolean,
): Pending {
  const asleep = until === undefined ? '' : `The board sleeps until ${iso(until)}. `;
  return {
    ok: true,
    pending: true,
    ...ids,
    note:
      `${asleep}No answer yet; it is not lost. Read it later with use_device action:'result' ` +
      `envelope_id:'${ids.envelope_id}'.`,
    ...(until === undefined ? {} : { until }),
    ...(background ? { background: true } : {}),
  };
}

function result(ctx: HubContext, ownerId: string, ref: string): UseDeviceReply {
  const reply = readReply(ctx, ownerId, ref);
  const envelope = envelopeOf(ctx, ownerId, ref);
  const ids = {
    envelope_id: ref,
    ...(envelope === undefined ? {} : { device_id: envelope.device_id }),
  };
  if (reply) {
    const late = envelope && lateReply(ctx, ref);
    const outcome = readOutcome(ctx, reply.payload, ids);
    return late === undefined ? outcome : { ...outcome, late: JSON.parse(late) };
  }
  if (!envelope && !/^(task|batch)_/.test(ref)) {
    return {
      ok: false,
      outcome: 'outcome_unknown',
      error: {
        code: 'unknown_envelope',
        message:
          'No such envelope: it was never sent, or it is past its time and what came of it is forgotten.',
      },
      ...ids,
    };
  }
  return {
    ok: true,
    pending: true,
    ...ids,
    note: 'No answer yet; ask again later.',
  };
}
