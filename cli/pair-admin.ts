/** What `pair` and `boards unpair` can ask of a running gateway that has a BLE link. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { UnpairError } from '../gateway/core/key-asks.js';
import { PairingError } from '../gateway/core/pairing-error.js';
import { HubRefused, HubUnreachable, Unauthorized } from '../gateway/doors/relay/index.js';
import type { Gateway } from '../gateway/index.js';
import { cleanName } from '../gateway/links/ble/air-text.js';
import type { BleHealth } from '../gateway/links/ble/health.js';
import type { Sighting } from '../gateway/links/ble/profile.js';
import { type BleBook, BleBookError } from '../gateway/node/ble-book.js';
import { type BoardBook, BoardBookError, type BoardEntry } from '../gateway/node/boards.js';
import { HandoverError } from '../gateway/node/handover-error.js';
import type { Pairer, PairStep } from '../gateway/node/pairer.js';
import { parseSetupCode, SetupCodeError } from '../protocol/setup-code.js';
import { type BoardShown, bookFault, shown } from './board-admin.js';
import { CliError, EXIT, usage } from './fault.js';

const words = z.string().max(2_048);

export const pairRequest = z.discriminatedUnion('op', [
  z.object({ op: z.literal('scan'), ms: z.number().int().min(0).max(10_000) }),
  z.object({
    op: z.literal('begin'),
    code: words,
    address: words.optional(),
    name: words.optional(),
  }),
  z.object({ op: z.literal('state'), ticket: words }),
  /** A board of another maker, which needs no set-up code. */
  z.object({
    op: z.literal('add'),
    address: words,
    name: words.optional(),
    bindKey: words.optional(),
  }),
  z.object({ op: z.literal('unpair'), board: words, force: z.boolean() }),
  /** A board of another gateway of the owner's; id or name of its device at the hub. */
  z.object({ op: z.literal('adopt'), device: words }),
  z.object({ op: z.literal('health') }),
]);
export type PairRequest = z.infer<typeof pairRequest>;

export const sightingShape = z.object({
  profile: z.string(),
  address: z.string(),
  /** dBm. */
  rssi: z.number(),
  name: z.string(),
  boardId: z.string().optional(),
  /** The first 8 hex digits of the id, of our own boards. */
  idPrefix: z.string().optional(),
  paired: z.boolean(),
  needs: z.enum(['code', 'bind_key', 'none']),
});
export type SightingShown = z.infer<typeof sightingShape>;

/** Of `BleHealth`, what `doctor` tells. */
export const bleHealthShape = z.object({
  detail: z.string().optional(),
  adapter: z.object({ state: z.enum(['unknown', 'absent', 'unauthorized', 'off', 'on']) }),
  degraded: z.boolean(),
  scan: z.object({ wanted: z.boolean(), heardAgoMs: z.number().optional() }),
  slots: z.object({ used: z.number(), limit: z.number() }),
});
export type BleHealthShown = z.infer<typeof bleHealthShape>;

export const pairStateShape = z.object({
  steps: z.array(z.enum(['looking', 'connecting', 'provisioning', 'storing', 'greeting'])),
  board: z.object({ id: z.string(), name: z.string(), online: z.boolean() }).optional(),
  error: z.object({ code: z.string(), message: z.string(), exit: z.number() }).optional(),
});
export type PairState = z.infer<typeof pairStateShape>;

/** Answers sightings to scan, `{ticket}` to begin, its state to state, the board to the rest. */
export interface PairAdmin {
  ask(request: PairRequest): Promise<unknown>;
}

/** Started without a BLE link. */
export const noPairing: PairAdmin = {
  ask: () =>
    Promise.reject(
      new CliError(
        'no_ble',
        'Motebridge runs without Bluetooth here, so nothing was done; stop it and start it with --ble hci0, or with --ble virtual for simulated boards.',
        EXIT.refused,
      ),
    ),
};

export interface PairAdminInput {
  pairer: Pairer;
  gateway: Pick<Gateway, 'unpair'>;
  book: BoardBook;
  foreign: BleBook;
  sightings(): Sighting[];
  adopt(device: string): Promise<BoardEntry>;
  health(): BleHealth;
}

/** Tickets that are remembered; the oldest that has ended goes for one more. */
const MOST = 32;

export function pairAdmin({
  pairer,
  gateway,
  book,
  foreign,
  sightings,
  adopt,
  health,
}: PairAdminInput): PairAdmin {
  const tickets = new Map<string, PairState & { steps: PairStep[] }>();

  function begin({ code, address, name }: PairRequest & { op: 'begin' }): { ticket: string } {
    const wish = { code: parseSetupCode(code), address, name };
    const ticket = randomBytes(9).toString('base64url');
    const state: PairState = { steps: [] };
    tickets.set(ticket, state);
    const over = [...tickets].filter(([, { board, error }]) => board ?? error);
    for (const [old] of over.slice(0, Math.max(0, tickets.size - MOST))) tickets.delete(old);
    pairer
      .pair(wish, (step) => void state.steps.push(step))
      .then(
        ({ boardId, name: called, online }) => {
          state.board = { id: boardId, name: called, online };
        },
        (error) => {
          const { code, message, exit } = faultOf(error);
          state.error = { code, message, exit };
        },
      );
    return { ticket };
  }

  async function add({ address, name, bindKey }: PairRequest & { op: 'add' }): Promise<BoardShown> {
    const wanted = address.toLowerCase();
    const seen = sightings().find((each) => each.address.toLowerCase() === wanted);
    if (seen === undefined) throw new PairingError('not_found');
    if (seen.needs === 'code') {
      throw usage('This board is paired by its set-up code: `motebridge pair <code>`.');
    }
    const called = name ?? (cleanName(seen.name) || `${seen.profile} ${wanted.slice(-5)}`);
    return shown(await foreign.add(called, seen, bindKey));
  }

  /** The board is told first: one that forgets nothing could be paired by nobody else. */
  async function unpair({ board, force }: PairRequest & { op: 'unpair' }): Promise<BoardShown> {
    const entry: BoardEntry = book.find(board);
    if (!foreign.has(entry.boardId)) {
      await gateway.unpair(entry.boardId).catch((error) => {
        if (!(force && error instanceof UnpairError && error.code !== 'busy')) throw error;
      });
    }
    return shown(await book.remove(entry.boardId));
  }

  const ask = async (request: PairRequest): Promise<unknown> => {
    switch (request.op) {
      case 'scan':
        return (await pairer.scan(request.ms)).map(
          (seen): SightingShown => sightingShape.parse({ ...seen, name: cleanName(seen.name) }),
        );
      case 'begin':
        return begin(request);
      case 'state': {
        const state = tickets.get(request.ticket);
        if (state !== undefined) return state;
        throw new CliError(
          'no_ticket',
          'This pairing is not known here any more; see `motebridge boards list` whether the board is paired.',
        );
      }
      case 'add':
        return add(request);
      case 'unpair':
        return unpair(request);
      case 'adopt':
        return shown(await adopt(request.device));
      case 'health':
        return bleHealthShape.parse(health());
    }
  };
  return {
    ask: (request) =>
      ask(request).catch((error) => {
        throw faultOf(error);
      }),
  };
}

function faultOf(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof BoardBookError) return bookFault(error);
  if (error instanceof SetupCodeError) return new CliError(error.code, error.message, EXIT.usage);
  if (error instanceof PairingError) {
    const away = ['not_found', 'lost', 'silent'].includes(error.code);
    return new CliError(error.code, error.message, away ? EXIT.unreachable : EXIT.refused);
  }
  if (error instanceof UnpairError) {
    if (!['offline', 'unconfirmed'].includes(error.code)) {
      return new CliError(error.code, error.message, EXIT.refused);
    }
    const instead = '`--force` forgets it here all the same.';
    return new CliError(error.code, `${error.message} ${instead}`, EXIT.unreachable);
  }
  if (error instanceof HandoverError) {
    const away = ['no_hub', 'unfinished'].includes(error.code);
    return new CliError(error.code, error.message, away ? EXIT.unreachable : EXIT.refused);
  }
  // The hub's refusal holds the reason of the gateway that has the board.
  if (error instanceof HubRefused) {
    const said = error.error.replace(/\.$/, '');
    return new CliError('refused', `The hub did not bring the board here: ${said}.`, EXIT.refused);
  }
  if (error instanceof HubUnreachable || error instanceof Unauthorized) {
    return new CliError('no_hub', new HandoverError('no_hub').message, EXIT.unreachable);
  }
  if (error instanceof BleBookError) return new CliError(error.code, error.message, EXIT.usage);
  return new CliError('failed', error instanceof Error ? error.message : 'unknown error');
}
