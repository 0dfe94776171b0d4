/** What a gateway sends up, kept in one transaction and acknowledged once it is durable. */
import { type UpBody, upItem } from '../protocol/gateway-api.js';
import { cutText, payloadText, SAID, TINY_LIMITS } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import type { OwnerEvent } from './bus.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { type DeviceRow, deviceById } from './devices.js';
import { keepEvent, said } from './events.js';
import { type Gateway, offerWaiting } from './gateways.js';
import { announce, type Notice, redeemUrl } from './notices.js';
import { presenceOf } from './presence.js';
import { keepReadings } from './readings.js';
import { keepResult } from './tickets.js';
import { keepTranscript } from './transcripts.js';

/** Board items that are remembered for each device, to know a repeated one by. */
const REMEMBERED = 2_000;

const remember = query<{ device: string; boot: number; seq: number }>()((p) =>
  tables
    .insertInto('stored_items')
    .values({ device_id: p.device, boot: p.boot, board_seq: p.seq })
    .onConflict((oc) => oc.doNothing()),
);
const forget = query<{ device: string }>()((p) =>
  tables
    .deleteFrom('stored_items')
    .where('device_id', '=', p.device)
    .where('seq', '<=', (eb) =>
      eb
        .selectFrom('stored_items as kept')
        .where('kept.device_id', '=', p.device)
        .orderBy('kept.seq', 'desc')
        .select('kept.seq')
        .limit(1)
        .offset(REMEMBERED),
    ),
);
const setPresence = query<{ id: string; presence: string; s: number }>()((p) =>
  tables
    .updateTable('devices')
    .set({ presence: p.presence, last_seen: p.s })
    .where('id', '=', p.id),
);
const setAway = query<{ id: string; presence: string }>()((p) =>
  tables.updateTable('devices').set({ presence: p.presence }).where('id', '=', p.id),
);
const seen = query<{ id: string; s: number }>()((p) =>
  tables.updateTable('devices').set({ last_seen: p.s }).where('id', '=', p.id),
);
const setHealth = query<{ id: string; health: string }>()((p) =>
  tables.updateTable('gateways').set({ health: p.health }).where('id', '=', p.id),
);
const envelope = query<{ id: string }>()((p) =>
  tables.selectFrom('envelopes').where('id', '=', p.id).select(['device_id']),
);
const lateAgain = query<{ id: string; payload: string }>()((p) =>
  tables
    .selectFrom('late_replies')
    .where('envelope_id', '=', p.id)
    .where('payload', '=', p.payload)
    .select('seq'),
);
const insertLate = query<{ id: string; device: string; payload: string; ms: number }>()((p) =>
  tables
    .insertInto('late_replies')
    .values({ envelope_id: p.id, device_id: p.device, payload: p.payload, created_ms: p.ms }),
);

export interface UpResult {
  ack: number;
  refused: { seq: number; why: string }[];
}

/** What is to be said aloud once the batch is durable. */
interface Told {
  ownerId: string;
  event: OwnerEvent;
}

/** `items` as they came; each is judged by itself. */
export async function takeUp(
  ctx: HubContext,
  gateway: Gateway,
  items: readonly unknown[],
): Promise<UpResult> {
  const result: UpResult = { ack: 0, refused: [] };
  const good: UpBody[] = [];
  for (const item of items) {
    const parsed = upItem.safeParse(item);
    if (parsed.success) good.push(parsed.data);
    const seq = parsed.success ? parsed.data.seq : seqOf(item);
    result.ack = Math.max(result.ack, seq);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const why = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not an item'}`;
      result.refused.push({ seq, why: cutText(why, 200) });
    }
  }
  if (good.length === 0) return result;
  const { told, notices, refused, back } = await ctx.db.write((w) => {
    const batch = new Batch(ctx, w, gateway, devicesOf(ctx, gateway));
    for (const item of good) batch.take(item);
    return batch;
  });
  result.refused.push(...refused);
  for (const { ownerId, event } of told) ctx.bus.tell(ownerId, event);
  for (const id of back) offerWaiting(ctx, gateway.id, id);
  for (const { ownerId, notice } of notices) await announce(ctx, ownerId, notice);
  return result;
}

function seqOf(item: unknown): number {
  const seq = typeof item === 'object' && item !== null && 'seq' in item ? item.seq : undefined;
  return typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? seq : 0;
}

function devicesOf(ctx: HubContext, gateway: Gateway): (id: string) => DeviceRow | undefined {
  const known = new Map<string, DeviceRow | undefined>();
  return (id) => {
    if (!known.has(id)) {
      const row = deviceById(ctx, id);
      known.set(id, row?.gateway_id === gateway.id && row.revoked_at === null ? row : undefined);
    }
    return known.get(id);
  };
}

class Batch {
  readonly told: Told[] = [];
  readonly notices: { ownerId: string; notice: Notice }[] = [];
  readonly refused: { seq: number; why: string }[] = [];
  /** Boards that are reachable again: what waits for them is offered again. */
  readonly back = new Set<string>();
  private readonly seen = new Set<string>();

  constructor(
    private readonly ctx: HubContext,
    private readonly w: Sync,
    private readonly gateway: Gateway,
    private readonly device: (id: string) => DeviceRow | undefined,
  ) {}

  take(item: UpBody): void {
    const why = this.store(item);
    if (why !== undefined) this.refused.push({ seq: item.seq, why });
  }

  /** Undefined, or why the item is refused for good. */
  private store(item: UpBody): string | undefined {
    if (item.kind === 'health') {
      setHealth.run(this.w, { id: this.gateway.id, health: JSON.stringify(item.links) });
      return undefined;
    }
    const device = this.device(item.device_id);
    if (!device) return 'this device is not one of this gateway';
    if (item.kind !== 'presence' && !this.seen.has(device.id)) {
      this.seen.add(device.id);
      seen.run(this.w, { id: device.id, s: this.ctx.time.seconds() });
    }
    switch (item.kind) {
      case 'presence':
        return this.presence(device, item);
      case 'readings':
        return this.readings(device, item);
      case 'late':
        return this.late(device, item);
      case 'progress':
        return this.progress(device, item);
      default:
        return this.once(device, item);
    }
  }

  private presence(device: DeviceRow, item: UpBody & { kind: 'presence' }): undefined {
    const before = presenceOf(this.ctx, device).state;
    const presence = JSON.stringify(item.presence);
    if (item.presence.state === 'unreachable') setAway.run(this.w, { id: device.id, presence });
    else setPresence.run(this.w, { id: device.id, presence, s: this.ctx.time.seconds() });
    // Later items of the batch, and its end, see the device as it is now.
    device.presence = presence;
    if (item.presence.state === 'online' && before !== 'online') this.back.add(device.id);
    this.tell(device, {
      type: 'presence',
      data: { device_id: device.id, name: device.name, presence: item.presence },
    });
  }

  private readings(device: DeviceRow, item: UpBody & { kind: 'readings' }): string | undefined {
    const keep = this.ctx.limits.readingHistory;
    const why = keepReadings(this.w, device.id, this.past(item.at), item.values, keep);
    if (why !== undefined) return why;
    this.tell(device, {
      type: 'readings',
      data: { device_id: device.id, name: device.name, at: item.at, values: item.values },
    });
    return undefined;
  }

  private progress(device: DeviceRow, item: UpBody & { kind: 'progress' }): undefined {
    this.tell(device, {
      type: 'progress',
      data: {
        device_id: device.id,
        envelope_id: item.envelope_id,
        ...(item.percent === undefined ? {} : { percent: item.percent }),
        ...(item.note === undefined ? {} : { note: cutText(item.note, 200) }),
      },
    });
  }

  private late(device: DeviceRow, item: UpBody & { kind: 'late' }): string | undefined {
    if (payloadText(item.payload) === undefined) return SAID.badPayload;
    const row = envelope.get(this.w, { id: item.envelope_id });
    if (row?.device_id !== device.id) return 'no such envelope of this device';
    const late = { id: item.envelope_id, payload: item.payload };
    if (lateAgain.get(this.w, late)) return undefined;
    const ms = this.ctx.time.ms();
    insertLate.run(this.w, { ...late, device: device.id, ms });
    const event = keepEvent(this.w, {
      ownerId: device.owner_id,
      device,
      kind: 'device_late_result',
      detail: said(
        device,
        'a result came after its outcome had been told — read it with ' +
          `use_device action:'result' envelope_id:'${item.envelope_id}'`,
      ),
      at: ms,
    });
    this.tell(device, event);
    const notice = {
      title: `💻 ${cutText(device.name, TINY_LIMITS.eventName)} answered late`,
      body: 'A result came after its outcome had been told.',
      tag: `device-result-${item.envelope_id}`,
      url: redeemUrl(item.envelope_id),
    };
    this.notices.push({ ownerId: device.owner_id, notice });
    return undefined;
  }

  /** What a board sends until it is stored: once each, whatever is repeated. */
  private once(
    device: DeviceRow,
    item: UpBody & { kind: 'event' | 'transcript' | 'task_result' },
  ): undefined {
    const key = { device: device.id, boot: item.boot, seq: item.board_seq };
    if (remember.run(this.w, key) === 0) return;
    forget.run(this.w, { device: device.id });
    if (item.kind === 'transcript') {
      this.tell(device, keepTranscript(this.w, device, item, this.past(item.at)).event);
    } else if (item.kind === 'task_result') {
      // By the hub's time: how long it can be redeemed is counted from here.
      const { told } = keepResult(this.w, device, item, this.ctx.time.ms());
      if (told) {
        this.tell(device, told.event);
        this.notices.push({ ownerId: device.owner_id, notice: told.notice });
      }
    } else {
      const { detail } = item;
      const text = typeof detail === 'string' ? detail : (JSON.stringify(detail) ?? '');
      const event = keepEvent(this.w, {
        ownerId: device.owner_id,
        device,
        kind: item.event,
        detail: said(device, text),
        at: this.past(item.at),
        ...(detail === undefined ? {} : { data: detail }),
      });
      this.tell(device, event);
    }
  }

  /** A stamp from the future would outlive everything that is newer. */
  private past(at: number): number {
    return Math.min(at, this.ctx.time.ms());
  }

  private tell(device: DeviceRow, event: OwnerEvent): void {
    this.told.push({ ownerId: device.owner_id, event });
  }
}
