/**
 * Boards over Bluetooth LE. The link connects to known boards by itself when it hears them, and
 * reports each as a path; `openFor` connects to one for pairing. What follows a connection runs
 * beside the next one being made.
 */
import type { Path, PathListener, Timer } from '../../core/types.js';
import { Counters } from '../link.js';
import { notOn } from './adapter-words.js';
import { Connector } from './connector.js';
import { DEADLINES, within } from './deadline.js';
import { boardHealth, linkState } from './health.js';
import { Keeper, type Seat } from './keeper.js';
import type { BleLink, BleLinkOptions, OpenedFor } from './link-types.js';
import { type Advertisement, BleError, type BleErrorCode } from './port.js';
import type { BleProfile, KnownBoard, ProfileContext } from './profile.js';
import { Scanner } from './scanner.js';
import type { Session } from './session.js';
import { Sessions } from './sessions.js';
import { Sightings } from './sightings.js';
import { Slots } from './slots.js';

export type * from './link-types.js';

/** A board that is to make room was held so long, unless a person waits for a pairing. */
const LEAST_HOLD_MS = 30_000;
/** How often a missing adapter is looked for, and a full one looked over. */
const LOOK_MS = 30_000;
const ROOM_MS = 5_000;

interface Wish {
  readonly address: string;
  readonly board: KnownBoard;
  readonly profile: BleProfile;
  readonly listener: PathListener;
  resolve(opened: OpenedFor): void;
  reject(error: unknown): void;
}

export function bleLink(options: BleLinkOptions): BleLink {
  const { port, clock, profiles } = options;
  const log = options.log ?? (() => undefined);
  const counters = new Counters();
  const count = (name: string): void => counters.add(name);
  const keeper = new Keeper({ clock, random, count, log });
  const sightings = new Sightings(clock);
  const slots = new Slots(clock, options.slots);
  const paths = new Set<Path>();
  const wishes: Wish[] = [];
  let known: readonly KnownBoard[] = [];
  let closed = false;
  let lastHeardAt: number | undefined;
  let timer: Timer | undefined;
  let looking: Timer | undefined;

  /** The gateway, as profiles see it: a listener that throws ends nothing but its own turn. */
  const gateway = guarded(options.listener);
  const sessions = new Sessions({
    clock,
    keeper,
    count,
    log,
    context,
    adapterOn: () => port.state === 'on',
    mayRest: (boardId) => options.mayRest?.(boardId) ?? true,
    proven: options.proven,
    changed,
  });
  const links = (): number => sessions.size;
  const scanner = new Scanner({
    port,
    clock,
    count,
    log,
    links,
    prepareReset: () => sessions.dropAll('adapter reset'),
    ...(options.deafMs === undefined ? {} : { deafMs: options.deafMs }),
  });
  const { notificationsPerS, notificationBurst } = options;
  const connector = new Connector({
    port,
    clock,
    scanner,
    slots,
    links,
    count,
    log,
    ...(notificationsPerS === undefined ? {} : { notificationsPerS }),
    ...(notificationBurst === undefined ? {} : { notificationBurst }),
  });

  function random(): number {
    return (options.random(1)[0] ?? 0) / 256;
  }

  function guarded(listener: PathListener): PathListener {
    const told = (run: () => void): void => {
      try {
        run();
      } catch {
        count('listener_error');
      }
    };
    return {
      opened: (path) => {
        paths.add(path);
        told(() => listener.opened(path));
      },
      received: (path, frame) => {
        lastHeardAt = clock.wall();
        told(() => listener.received(path, frame));
      },
      closed: (path, reason) => {
        paths.delete(path);
        told(() => listener.closed(path, reason));
      },
    };
  }

  function context(listener: PathListener): ProfileContext {
    return { clock, listener, random: options.random, log, count };
  }

  function profileOf(name: string): BleProfile | undefined {
    return profiles.find((profile) => profile.name === name);
  }

  function mayTry({ board }: Seat): boolean {
    return profileOf(board.profile)?.open !== undefined && !sessions.has(board.boardId);
  }

  function heard(advertisement: Advertisement): void {
    if (closed) return;
    scanner.heard();
    for (const profile of profiles) {
      try {
        const sighting = profile.sight(advertisement);
        if (!sighting) continue;
        sightings.saw(sighting);
        const board = profile.recognise(advertisement, known);
        if (board) recognised(profile, board, advertisement);
        return;
      } catch {
        count('profile_error');
      }
    }
  }

  function recognised(profile: BleProfile, board: KnownBoard, advertisement: Advertisement): void {
    keeper.heard(board.boardId, advertisement.address, advertisement.rssi);
    profile.heard?.(advertisement, board, context(gateway));
    if (profile.open && advertisement.connectable) pump();
  }

  /** A connection ended, the book changed, or somebody looks. */
  function changed(): void {
    wants();
    pump();
  }

  /** Scans while somebody looks, a board is missing, or one only broadcasts. */
  function wants(): void {
    const missing = [...keeper.seats].some(
      ({ board }) => profileOf(board.profile)?.heard !== undefined || !sessions.has(board.boardId),
    );
    scanner.want(!closed && (sightings.watched || missing));
  }

  /** Makes the next connection that is due, if one may be made. */
  function pump(): void {
    if (closed || connector.busy || port.state !== 'on') return;
    const wish = wishes[0];
    const next = wish ? undefined : keeper.next(mayTry);
    if (!wish && !next) wakeIn(keeper.nextDue(mayTry));
    else if (sessions.size >= slots.limit) noSlot(wish, next?.seat);
    else if (wish) {
      wishes.shift();
      void fulfil(wish).finally(changed);
    } else if (next) void attempt(next.seat.board, next.address).finally(changed);
  }

  function wakeIn(ms: number | undefined): void {
    timer?.cancel();
    if (ms !== undefined) timer = clock.after(ms, pump);
  }

  function noSlot(wish: Wish | undefined, seat: Seat | undefined): void {
    // One that is going already makes room: its end pumps again.
    if (sessions.ending) return;
    const resting = sessions.restful(wish ? 0 : LEAST_HOLD_MS);
    if (resting) {
      count('rotations');
      void resting.connection.drop('rotated', 'it makes room for another board for a while');
      return;
    }
    const words = `all ${slots.limit} connections of the Bluetooth adapter are in use`;
    if (wish) {
      wishes.shift();
      wish.reject(
        new BleError('no_slot', `${words}; nothing was connected. Unpair a board, or try later`),
      );
      pump();
      return;
    }
    if (seat && !seat.noSlotSaid) {
      seat.noSlotSaid = true;
      seat.why = words;
      count('no_slot');
      log(`${words} and none may rest: a board waits. Unpair one, or add a gateway`, {
        board: seat.board.boardId,
      });
    }
    wakeIn(ROOM_MS);
  }

  async function attempt(board: KnownBoard, address: string): Promise<void> {
    const profile = profileOf(board.profile);
    try {
      const connection = await connector.connect(address);
      if (!profile) return;
      void sessions.open(profile, board, connection, gateway, true).catch(() => undefined);
    } catch (error) {
      keeper.failed(board.boardId, codeOf(error), wordsOf(error), 0);
    }
  }

  async function fulfil({ address, board, profile, listener, ...wish }: Wish): Promise<void> {
    try {
      const connection = await connector.connect(address);
      void sessions
        .open(profile, board, connection, guarded(listener), false)
        .then((session) => wish.resolve(opened(session)))
        .catch(wish.reject);
    } catch (error) {
      wish.reject(error);
    }
  }

  function opened(session: Session): OpenedFor {
    const { path, connection } = session;
    if (!path) {
      void connection.drop('let_go', 'it opened no path');
      throw new BleError('failed', 'this board opened no path; it was let go');
    }
    return {
      path,
      handOver() {
        session.handOver(gateway);
        sessions.proveSoon(session);
      },
      close: (reason) => void connection.drop('let_go', reason),
    };
  }

  function adapterChanged(): void {
    const on = port.state === 'on';
    if (!on) {
      const why = notOn(port.state).message;
      log('the Bluetooth adapter is not usable', { state: port.state, why });
      for (const { connection } of sessions) connection.abandon('the adapter went away');
      for (const wish of wishes.splice(0)) wish.reject(notOn(port.state));
      for (const profile of profiles) profile.closed?.('the adapter went away');
      keeper.adapterBack();
      sightings.clear();
    } else log('the Bluetooth adapter is on', { library: port.name });
    scanner.adapter(on);
    lookFor();
    pump();
  }

  /** A missing adapter is looked for now and then: libraries only look once. */
  function lookFor(): void {
    looking?.cancel();
    if (closed || port.state !== 'absent') return;
    looking = clock.after(LOOK_MS, () => {
      count('adapter_looked_for');
      void within(clock, DEADLINES.reset, 'looking for an adapter', () => port.reset())
        .catch(() => undefined)
        .finally(lookFor);
    });
  }

  function knownChanged(): void {
    if (closed) return;
    known = options.known();
    for (const { boardId, profile } of keeper.update(known)) {
      const session = sessions.of(boardId);
      if (session?.adopted) void session.connection.drop('forgotten', 'the board was forgotten');
      profileOf(profile)?.forget?.(boardId);
    }
    changed();
  }

  port.onState(() => {
    if (!closed) adapterChanged();
  });
  port.onAdvertisement(heard);
  knownChanged();
  if (port.state !== 'on' && port.state !== 'unknown') adapterChanged();

  return {
    sightings: () => sightings.all(),
    onSighting(run) {
      const stop = sightings.watch((sighting) => {
        try {
          run(sighting);
        } catch {
          count('listener_error');
        }
      });
      wants();
      return () => {
        stop();
        wants();
      };
    },
    knownChanged,
    openFor({ address, board }, listener) {
      if (closed || port.state !== 'on') return Promise.reject(notOn(port.state));
      const profile = profileOf(board.profile);
      if (!profile?.open || sessions.has(board.boardId)) {
        const why = profile?.open ? 'is connected already' : 'cannot be connected to';
        return Promise.reject(new BleError('failed', `this board ${why}; nothing was done`));
      }
      return new Promise((resolve, reject) => {
        wishes.push({ address, board, profile, listener, resolve, reject });
        pump();
      });
    },
    health() {
      const { state, detail } = linkState(port.state, closed);
      const degraded = state === 'up' ? scanner.degraded : undefined;
      const words = degraded ?? detail;
      const now = clock.now();
      const { heardAt, wanted, running } = scanner;
      return {
        via: 'ble',
        state,
        ...(lastHeardAt === undefined ? {} : { lastHeardAt }),
        ...(words === undefined ? {} : { detail: words }),
        paths: paths.size,
        counters: { ...counters.all },
        adapter: { library: port.name, state: port.state },
        degraded: degraded !== undefined,
        scan: { wanted, running, ...(heardAt === undefined ? {} : { heardAgoMs: now - heardAt }) },
        slots: { used: sessions.size + (connector.busy ? 1 : 0), limit: slots.limit },
        boards: [...keeper.seats].map((seat) => {
          const connects = profileOf(seat.board.profile)?.open !== undefined;
          return boardHealth(seat, sessions.of(seat.board.boardId), connects, now);
        }),
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      timer?.cancel();
      looking?.cancel();
      scanner.close();
      for (const wish of wishes.splice(0)) wish.reject(notOn('off'));
      await sessions.dropAll('the link is closing');
      for (const profile of profiles) profile.closed?.('the link is closing');
      const closing = (): Promise<void> => port.close();
      await within(clock, DEADLINES.disconnect, 'closing the adapter', closing).catch(() => {});
    },
  };
}

function codeOf(error: unknown): BleErrorCode {
  return error instanceof BleError ? error.code : 'failed';
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
