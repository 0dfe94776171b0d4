/**
 * The embedded MQTT broker, which is also a link: frames go from a board's connection straight to
 * the gateway. A board sees and touches only its own topics; presence is the connection, never a
 * topic (amendment 11, field report 23).
 */
import type { Socket } from 'node:net';
import { Aedes, type AuthenticateError, type Client, type PublishPacket } from 'aedes';
import type { BoardId, Path } from '../core/types.js';
import { BROKER_LIMITS, type Broker, type BrokerOptions } from './broker-options.js';
import { CONNACK, judgeConnect, judgePublish, passwordFits, type Refusal } from './broker-rules.js';
import { openServer } from './broker-server.js';
import { Gate } from './gate.js';
import { Counters, LinkClosed } from './link.js';
import { isLoopback } from './loopback.js';
import { Refusals } from './refusals.js';
import { skipRetained } from './retained.js';
import { type Identity, Takeovers } from './takeovers.js';
import { topicOf } from './topics.js';

/** One connection. */
interface Seat {
  readonly gate: Gate;
  readonly trusted: boolean;
  boardId?: BoardId;
  identity: Identity;
  refusal?: Refusal;
  /** Its end has been counted by its cause. */
  counted: boolean;
  /** Its board was removed: its last will is not to be heard. */
  forgotten: boolean;
  subscribed: boolean;
  /** Bytes given to the broker that the board's socket has not taken. */
  queued: number;
  path?: Path;
}

/** Rejects with the server's error (the port is taken, say). */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { clock, listener, tls } = options;
  const limits = { ...BROKER_LIMITS, ...options.limits };
  const host = options.host ?? '127.0.0.1';
  const counters = new Counters();
  const refusals = new Refusals(clock, options.log);
  const takeovers = new Takeovers();
  const seats = new WeakMap<Client, Seat>();
  const open = new Set<Seat>();
  /** The connection that stands for each board. */
  const current = new Map<BoardId, Seat>();
  let lastHeardAt: number | undefined;
  let closed = false;

  const aedes = await Aedes.createBroker({
    // The library's own queue recurses until the stack ends under a flood (figures.md "Brokers");
    // without it each connection is bounded by its gate instead.
    concurrency: 0,
    connectTimeout: 10_000,
    drainTimeout: 20_000,
    preConnect(client, packet, done) {
      const seat = seats.get(client);
      const judged = judgeConnect(packet);
      // Nothing is kept for a board that is away: it greets anew each time (amendment 4).
      packet.clean = true;
      if (seat && 'refusal' in judged) seat.refusal = judged.refusal;
      else if (seat && 'boardId' in judged) seat.identity = judged.identity;
      done(null, true);
    },
    authenticate(client, _username, password, done) {
      const seat = seats.get(client);
      const refusal = seat ? (seat.refusal ?? judgeEntry(client.id, seat, password)) : undefined;
      if (!seat || refusal) {
        const { code, counter, why } = refusal ?? unavailable('the broker is closing');
        counters.add(counter);
        refusals.say(client.id, why);
        if (seat) seat.counted = true;
        done(Object.assign(new Error(why), { returnCode: code }) as AuthenticateError, null);
        return;
      }
      seat.boardId = client.id;
      seat.gate.welcome();
      done(null, true);
    },
    authorizePublish(client, packet, done) {
      const seat = client ? seats.get(client) : undefined;
      done(client && seat ? publication(client, seat, packet) : new Error('no such connection'));
    },
    authorizeSubscribe(client, subscription, done) {
      const seat = seats.get(client);
      const own = seat?.boardId !== undefined && topicOf(seat.boardId, 'down');
      if (!seat || subscription.topic !== own) {
        counters.add('subscription_refused');
        refusals.say(client.id, 'a board subscribes only to its own down topic');
        done(null, null);
        return;
      }
      seat.subscribed = true;
      done(null, subscription);
    },
    authorizeForward(client, packet) {
      return packet.topic === topicOf(client.id, 'down') ? packet : null;
    },
  });

  skipRetained(aedes);

  function judgeEntry(
    id: BoardId,
    seat: Seat,
    password: Uint8Array | undefined,
  ): Refusal | undefined {
    if (!passwordFits(password, options.password(id))) {
      const why = 'the password is not this board’s; make a new configuration for it';
      return { code: CONNACK.credentials, counter: 'bad_credentials', why };
    }
    if (current.has(id) && takeovers.refuses(id, seat.identity, clock.now())) {
      return unavailable('another board with this id is connected', 'duplicate_refused');
    }
    return undefined;
  }

  /** Undefined lets it pass on; an error ends the connection. */
  function publication(client: Client, seat: Seat, packet: PublishPacket): Error | null {
    const boardId = seat.boardId;
    if (boardId === undefined) return new Error('not signed in');
    if (client.closed) {
      // Its last will: of no matter where a newer connection stands for the board.
      if (seat.forgotten) return new Error('the board was removed');
      const now = current.get(boardId);
      if (now === undefined || now === seat) return null;
      counters.add('stale_offline');
      return new Error('a newer connection stands for this board');
    }
    const what = judgePublish(boardId, packet);
    if (what.kind === 'refused') {
      counters.add('publish_refused');
      seat.counted = true;
      refusals.say(boardId, what.why);
      return new Error(what.why);
    }
    if (what.kind === 'ignored') {
      packet.retain = false;
      counters.add(what.counter);
    }
    if (what.kind === 'state') {
      seat.identity = what.state;
      if (what.state.online) pathOf(boardId, seat);
    }
    if (what.kind === 'frame') {
      lastHeardAt = clock.wall();
      const path = pathOf(boardId, seat);
      if (path) told(() => listener.received(path, what.bytes));
    }
    return null;
  }

  /** The connection's path, opened now if need be; none once another stands for the board. */
  function pathOf(boardId: BoardId, seat: Seat): Path | undefined {
    if (seat.path || current.get(boardId) !== seat) return seat.path;
    const path: Path = {
      boardId,
      via: 'mqtt',
      mustSeal: !seat.trusted,
      send(frame) {
        if (seat.path !== path) throw new LinkClosed();
        send(boardId, seat, frame);
      },
      close: (reason) => {
        if (seat.path === path) end(seat, reason);
      },
    };
    seat.path = path;
    told(() => listener.opened(path));
    return seat.path;
  }

  function send(boardId: BoardId, seat: Seat, frame: Uint8Array): void {
    const client = clients.get(seat);
    if (!client || !seat.subscribed) {
      counters.add('not_subscribed');
      return;
    }
    if (seat.queued + frame.length > limits.maxQueued) {
      counters.add('slow_reader');
      refusals.say(boardId, 'the board does not read what is sent to it');
      end(seat, 'the board does not read');
      throw new LinkClosed();
    }
    seat.queued += frame.length;
    seat.gate.owe();
    const topic = topicOf(boardId, 'down');
    const payload = Buffer.from(frame);
    client.publish({ cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false }, () => {
      seat.queued -= frame.length;
    });
  }

  /** Ends a connection, and with it its board's path. */
  function end(seat: Seat, reason: string): void {
    open.delete(seat);
    const { boardId, path } = seat;
    if (boardId !== undefined && current.get(boardId) === seat) {
      current.delete(boardId);
      takeovers.left(boardId);
    }
    seat.gate.destroy();
    if (!path) return;
    delete seat.path;
    told(() => listener.closed(path, reason));
  }

  /** The connection now stands for its board; an older one of the same id is over. */
  function seated(client: Client): void {
    const seat = seats.get(client);
    if (!seat?.boardId) return;
    const before = current.get(seat.boardId);
    if (before && before !== seat) {
      counters.add('takeovers');
      const twice = takeovers.took(seat.boardId, before.identity, seat.identity, clock.now());
      if (twice) {
        counters.add('duplicate_id');
        options.log?.('two boards use one id; the newest is held', { boardId: seat.boardId });
      }
      current.set(seat.boardId, seat);
      end(before, 'the board connected again');
    }
    current.set(seat.boardId, seat);
  }

  /** A listener that throws ends nothing but its own turn. */
  function told(run: () => void): void {
    try {
      run();
    } catch {
      counters.add('listener_error');
    }
  }

  const clients = new WeakMap<Seat, Client>();

  function admit(socket: Socket): void {
    if (open.size >= limits.maxConnections) {
      counters.add('too_many_connections');
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    const gate = new Gate(socket, clock, limits, (name) => counters.add(name));
    const trusted = tls !== undefined || isLoopback(socket.remoteAddress ?? '');
    const seat: Seat = {
      gate,
      trusted,
      identity: undefined,
      counted: false,
      forgotten: false,
      subscribed: false,
      queued: 0,
    };
    open.add(seat);
    gate.once('close', () => end(seat, 'the connection was lost'));
    const client = aedes.handle(gate);
    seats.set(client, seat);
    clients.set(seat, client);
  }

  aedes.on('client', seated);
  aedes.on('unsubscribe', (topics, client) => {
    const seat = seats.get(client);
    if (seat?.boardId && topics.includes(topicOf(seat.boardId, 'down'))) seat.subscribed = false;
  });
  aedes.on('keepaliveTimeout', () => counters.add('keepalive_timeout'));
  const failed = (client: Client): void => {
    if (!seats.get(client)?.counted) counters.add('client_error');
  };
  aedes.on('clientError', failed);
  aedes.on('connectionError', failed);
  // What its memory store would reject with; it has no other errors.
  aedes.addListener('error', () => counters.add('broker_error'));

  const server = await openServer({ ...options, host, limits, counters, admit }).catch(
    async (error: unknown) => {
      await new Promise<void>((resolve) => aedes.close(resolve));
      throw error;
    },
  );
  return {
    port: server.port,
    url: server.url,
    health: () => ({
      via: 'mqtt',
      state: closed ? 'down' : 'up',
      ...(lastHeardAt === undefined ? {} : { lastHeardAt }),
      paths: [...current.values()].filter((seat) => seat.path).length,
      counters: { ...counters.all },
    }),
    async forget(boardId) {
      const seat = current.get(boardId);
      takeovers.forget(boardId);
      if (seat) {
        seat.forgotten = true;
        end(seat, 'the board was removed');
      }
      await new Promise<void>((resolve) => {
        const nothing = { payload: Buffer.alloc(0), qos: 0, retain: true, dup: false } as const;
        aedes.publish({ cmd: 'publish', topic: topicOf(boardId, 'state'), ...nothing }, () =>
          resolve(),
        );
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      const down = server.close();
      for (const seat of [...open]) end(seat, 'the link is closing');
      await new Promise<void>((resolve) => aedes.close(resolve));
      await down;
    },
  };
}

function unavailable(why: string, counter = 'unavailable'): Refusal {
  return { code: CONNACK.unavailable, counter, why };
}
