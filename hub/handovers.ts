/**
 * A board that changes its gateway (amendment 10): the hub relays the adopting gateway's wish
 * and the sealed key, and moves the device once the key is stored there. What it relays does
 * not hold the key. Whoever runs the hub can get it all the same: the gateways have only the hub's
 * word for who asks, and one that lies can put a public key of its own in the place of the asker's.
 */
import { base64url } from '../protocol/identity.js';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import type { DeviceRow } from './devices.js';
import { type Gateway, offerWaiting } from './gateways.js';
import { newId } from './ids.js';
import { Refusal } from './refusal.js';

/** How long the gateway that has the board may take; it speaks with the board meanwhile. */
export const HANDOVER_MS = 30_000;

interface Row {
  id: string;
  device_id: string;
  board_id: string;
  from_gateway: string;
  to_gateway: string;
  done_at: number | null;
  gone_at: number | null;
}

const boardDevice = query<{ id: string; owner: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('id', '=', p.id)
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null)
    .selectAll(),
);
const insert = query<{ id: string; device: string; board: string; from: string; to: string }>()(
  (p) =>
    tables.insertInto('handovers').values({
      id: p.id,
      device_id: p.device,
      board_id: p.board,
      from_gateway: p.from,
      to_gateway: p.to,
      done_at: null,
      gone_at: null,
    }),
);
const byId = query<{ id: string }>()((p) =>
  tables.selectFrom('handovers').where('id', '=', p.id).selectAll(),
);
const remove = query<{ id: string }>()((p) =>
  tables.deleteFrom('handovers').where('id', '=', p.id),
);
const removeUnfinished = query<{ board: string }>()((p) =>
  tables.deleteFrom('handovers').where('board_id', '=', p.board).where('done_at', 'is', null),
);
/**
 * What is of no use once the board has gone on: a handover that everybody knows of, and one by
 * which the gateway that has the board again would still be told to forget it.
 */
const removePassed = query<{ board: string; gateway: string; but: string }>()((p) =>
  tables
    .deleteFrom('handovers')
    .where('board_id', '=', p.board)
    .where('id', '!=', p.but)
    .where((is) => is.or([is('gone_at', 'is not', null), is('from_gateway', '=', p.gateway)])),
);
const setDone = query<{ id: string; s: number }>()((p) =>
  tables.updateTable('handovers').set({ done_at: p.s }).where('id', '=', p.id),
);
const setGone = query<{ id: string; s: number }>()((p) =>
  tables.updateTable('handovers').set({ gone_at: p.s }).where('id', '=', p.id),
);
const isAt = query<{ device: string; gateway: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('id', '=', p.device)
    .where('gateway_id', '=', p.gateway)
    .where('revoked_at', 'is', null)
    .select('id'),
);
const move = query<{ device: string; from: string; gateway: string }>()((p) =>
  tables
    .updateTable('devices')
    .set({ gateway_id: p.gateway, presence: null })
    .where('id', '=', p.device)
    .where('gateway_id', '=', p.from)
    .where('revoked_at', 'is', null),
);
const doneFrom = query<{ gateway: string }>()((p) =>
  tables
    .selectFrom('handovers')
    .where('from_gateway', '=', p.gateway)
    .where('done_at', 'is not', null)
    .where('gone_at', 'is', null)
    .selectAll(),
);

export interface HandedOver {
  id: string;
  boardId: string;
  name: string;
  sealedKey: string;
}

/** Asks the gateway that has the board for its key, sealed to `publicKey` (base64url). */
export async function askHandover(
  ctx: HubContext,
  gateway: Gateway,
  deviceId: string,
  publicKey: string,
): Promise<HandedOver> {
  const key = Buffer.from(publicKey, 'base64url');
  if (key.length !== 32 || base64url(key) !== publicKey) {
    throw new Refusal(400, 'public_key is 32 bytes as base64url; nothing was changed');
  }
  const device = ctx.db.read((r) => boardDevice.get(r, { id: deviceId, owner: gateway.owner_id }));
  const boardId = device?.board_id;
  if (!device || !boardId) throw new Refusal(404, 'no such board; nothing was changed');
  const from = holderOf(ctx, gateway, device);
  const id = newId();
  await ctx.db.write((w) => {
    removeUnfinished.run(w, { board: boardId });
    insert.run(w, { id, device: device.id, board: boardId, from, to: gateway.id });
  });
  const said = await answerWithin(ctx, id, () =>
    ctx.streams.of(from)?.send('handover', {
      handover_id: id,
      board_id: boardId,
      public_key: publicKey,
      to: gateway.name,
    }),
  );
  const answer = JSON.parse(said ?? '{}') as { sealed_key?: string; refused?: string };
  if (answer.sealed_key !== undefined) {
    return { id, boardId, name: device.name, sealedKey: answer.sealed_key };
  }
  await ctx.db.write((w) => remove.run(w, { id }));
  const why = answer.refused ?? 'the gateway that has the board did not answer in time';
  const reason = why.replace(/\.$/, '');
  throw new Refusal(409, `${reason}; the board stays with it`, { retryable: true });
}

/** Undefined once the time is up or the hub closes. */
function answerWithin(ctx: HubContext, id: string, ask: () => void): Promise<string | undefined> {
  return new Promise((resolve) => {
    let stop = (): void => {};
    const timer = ctx.clock.after(HANDOVER_MS, () => {
      stop();
      resolve(undefined);
    });
    stop = ctx.waiters.wait(waiterOf(id), (answer) => {
      timer.cancel();
      resolve(answer);
    });
    ask();
  });
}

/** The gateway that can give the board away now. */
function holderOf(ctx: HubContext, gateway: Gateway, device: DeviceRow): string {
  const from = device.gateway_id;
  if (from === gateway.id) throw new Refusal(409, 'this gateway has the board already');
  if (from === null || !ctx.streams.of(from)) {
    throw new Refusal(
      409,
      'the gateway that has the board is not connected; nothing was changed. If it is gone for ' +
        'good, reset the board by hand and pair it anew with its set-up code.',
      { retryable: true },
    );
  }
  return from;
}

/** What the gateway that has the board says; only it may, and only while somebody waits. */
export function answerHandover(
  ctx: HubContext,
  gateway: Gateway,
  answer: { handover_id: string; sealed_key?: string | undefined; refused?: string | undefined },
): void {
  const row = mustBe(ctx, answer.handover_id, (each) => each.from_gateway === gateway.id);
  const { sealed_key, refused } = answer;
  ctx.waiters.answered(waiterOf(row.id), JSON.stringify({ sealed_key, refused }));
}

/**
 * The key is stored at the adopting gateway: the device is its own. Repeatable until the board goes
 * on, as that gateway may have been killed before it had the answer.
 */
export async function finishHandover(ctx: HubContext, gateway: Gateway, id: string): Promise<void> {
  const row = mustBe(ctx, id, (each) => each.to_gateway === gateway.id);
  if (row.done_at !== null) {
    const here = { device: row.device_id, gateway: gateway.id };
    if (ctx.db.read((r) => isAt.get(r, here))) return;
    throw elsewhere();
  }
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    // The key may be weeks old by now, and the board another gateway's.
    if (move.run(w, { device: row.device_id, from: row.from_gateway, gateway: gateway.id }) === 0) {
      throw elsewhere();
    }
    removePassed.run(w, { board: row.board_id, gateway: gateway.id, but: id });
    setDone.run(w, { id, s });
    audit(w, gateway.owner_id, 'board.handover', row.device_id, s * 1000);
  });
  ctx.bus.fleetChanged(gateway.owner_id);
  tellHandedOver(ctx, row.from_gateway);
  offerWaiting(ctx, gateway.id, row.device_id);
}

const elsewhere = (): Refusal =>
  new Refusal(409, 'the board is no longer where it was; nothing was changed');

/** The gateway that had the board has forgotten it. Repeatable, so an unknown id is no fault. */
export async function forgetHandover(ctx: HubContext, gateway: Gateway, id: string): Promise<void> {
  const row = ctx.db.read((r) => byId.get(r, { id }));
  if (row?.from_gateway !== gateway.id || row.done_at === null) return;
  await ctx.db.write((w) => setGone.run(w, { id, s: ctx.time.seconds() }));
}

/** Says which boards are another's now; at each connect, until each is acknowledged. */
export function tellHandedOver(ctx: HubContext, gatewayId: string): void {
  const stream = ctx.streams.of(gatewayId);
  if (!stream) return;
  for (const row of ctx.db.read((r) => doneFrom.all(r, { gateway: gatewayId }))) {
    stream.send('handed_over', { handover_id: row.id, board_id: row.board_id });
  }
}

function mustBe(ctx: HubContext, id: string, mine: (row: Row) => boolean): Row {
  const row = ctx.db.read((r) => byId.get(r, { id }));
  if (!row || !mine(row)) throw new Refusal(404, 'no such handover; nothing was changed');
  return row;
}

const waiterOf = (id: string): string => `handover/${id}`;
