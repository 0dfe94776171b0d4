/**
 * Boards behind any MQTT broker (frame.md "Links"). A board's path opens at the first frame or
 * live state of a connection and closes at the state 0 of that connection, or when the broker
 * goes.
 */
import type { BoardId, Clock, Path, PathListener, Timer } from '../core/types.js';
import { Bucket } from './bucket.js';
import { Counters, type Link, LinkClosed, type LinkHealth, type LinkLog } from './link.js';
import { type BrokerConnection, brokerAddress, connectBroker } from './mqtt-client.js';
import { Takeovers } from './takeovers.js';
import { type BoardState, decodeState, parseTopic, sameConnection, topicOf } from './topics.js';

export interface MqttLinkOptions {
  /** `mqtt://host[:port]` or `mqtts://host[:port]`. */
  url: string;
  username?: string;
  password?: string;
  clientId?: string;
  /** PEM of a private authority. */
  ca?: string;
  /** The way to the broker is known to be private (a VPN): plain frames may be trusted. */
  trusted?: boolean;
  clock: Clock;
  listener: PathListener;
  log?: LinkLog;
  /** Boards at once; frames of others are dropped and counted. Default 5,000. */
  maxPaths?: number;
  /** Largest frame, in bytes. Default 65,536. */
  maxFrame?: number;
  /** Per board; what comes faster is dropped and counted. Defaults 200 and 400. */
  framesPerS?: number;
  frameBurst?: number;
  /** From 0 to below 1, for the back-off's jitter. */
  random?: () => number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Bytes that the broker has not acknowledged; beyond them the connection is given up. */
const MAX_BACKLOG = 4 * 1024 * 1024;

interface Board {
  /** The newest that was told; its pair is that of the open path. */
  state?: BoardState;
  path?: Path;
  bucket: Bucket;
}

export interface MqttLink extends Link {
  /** Resolves at the first verified subscription. */
  readonly ready: Promise<void>;
}

export function mqttLink(options: MqttLinkOptions): MqttLink {
  const { clock, listener } = options;
  const address = brokerAddress(options.url);
  const mustSeal = !(address.private || options.trusted === true);
  const maxFrame = options.maxFrame ?? 65_536;
  const maxPaths = options.maxPaths ?? 5_000;
  const random = options.random ?? Math.random;
  const counters = new Counters();
  const takeovers = new Takeovers();
  const boards = new Map<BoardId, Board>();
  let connection: BrokerConnection | undefined;
  let state: LinkHealth['state'] = 'connecting';
  let detail: string | undefined;
  let lastHeardAt: number | undefined;
  let retry: Timer | undefined;
  let waitMs = FIRST_WAIT_MS;
  let closing: (() => void) | undefined;
  let isReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });

  function connect(): void {
    connection = connectBroker({
      address,
      ...(options.username === undefined ? {} : { username: options.username }),
      ...(options.password === undefined ? {} : { password: options.password }),
      ...(options.clientId === undefined ? {} : { clientId: options.clientId }),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      // The topic and its lengths come on top of a frame.
      maxPacket: maxFrame + 64,
      topics: ['mote/+/up', 'mote/+/state'],
      subscribed() {
        state = 'up';
        detail = undefined;
        waitMs = FIRST_WAIT_MS;
        isReady();
      },
      message,
      ended,
    });
  }

  function ended(why: string): void {
    connection = undefined;
    for (const board of boards.values()) closePath(board, why);
    boards.clear();
    if (closing) {
      state = 'down';
      closing();
      return;
    }
    state = 'connecting';
    detail = why;
    counters.add('disconnects');
    options.log?.('lost the broker', { why });
    // Between half the time and all of it, so that many gateways do not come back at once.
    retry = clock.after(waitMs * (0.5 + random() / 2), connect);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }

  function message(topic: string, payload: Uint8Array, retained: boolean): void {
    const parsed = parseTopic(topic);
    const refused =
      parsed === undefined || parsed.leaf === 'down'
        ? 'bad_topic'
        : parsed.leaf === 'state'
          ? onState(parsed.boardId, payload, retained)
          : onFrame(parsed.boardId, payload, retained);
    if (refused) counters.add(refused);
  }

  /** The name of the counter of what was wrong, if anything was. */
  function onFrame(boardId: BoardId, payload: Uint8Array, retained: boolean): string | undefined {
    if (retained) return 'retained_frame';
    if (payload.length === 0) return 'empty_frame';
    if (payload.length > maxFrame) return 'too_large';
    const board = known(boardId);
    if (!board) return 'too_many_boards';
    if (!board.bucket.take(1, clock.now())) return 'rate_limited';
    lastHeardAt = clock.wall();
    const path = board.path ?? openPath(boardId, board);
    told(() => listener.received(path, payload.slice()));
    return undefined;
  }

  function onState(boardId: BoardId, payload: Uint8Array, retained: boolean): string | undefined {
    if (payload.length === 0) {
      forget(boardId);
      return undefined;
    }
    const next = decodeState(payload);
    if (!next) return 'bad_state';
    const board = known(boardId);
    if (!board) return 'too_many_boards';
    if (!board.bucket.take(1, clock.now())) return 'rate_limited';
    const before = board.state;
    if (!next.online) {
      if (!before || !sameConnection(before, next)) return 'stale_offline';
      board.state = next;
      closePath(board, 'the board went offline');
      return undefined;
    }
    if (retained) {
      // What the broker remembers names the connection, but proves no living board.
      board.state ??= next;
      return undefined;
    }
    board.state = next;
    if (before?.online && board.path && !sameConnection(before, next)) {
      if (takeovers.took(boardId, before, next, clock.now())) {
        counters.add('duplicate_id');
        options.log?.('two boards use one id', { boardId });
      }
      closePath(board, 'the board connected again');
    }
    if (!board.path) openPath(boardId, board);
    return undefined;
  }

  /** The board's entry; undefined where there are too many. */
  function known(boardId: BoardId): Board | undefined {
    const found = boards.get(boardId);
    if (found) return found;
    if (boards.size >= maxPaths && !makeRoom()) return undefined;
    const bucket = new Bucket(options.framesPerS ?? 200, options.frameBurst ?? 400, clock.now());
    const board: Board = { bucket };
    boards.set(boardId, board);
    return board;
  }

  /** Forgets one board that has no path (a retained state is all that is known of it). */
  function makeRoom(): boolean {
    for (const [boardId, board] of boards) {
      if (board.path) continue;
      boards.delete(boardId);
      return true;
    }
    return false;
  }

  function forget(boardId: BoardId): void {
    const board = boards.get(boardId);
    if (!board) return;
    closePath(board, 'the board was forgotten at the broker');
    boards.delete(boardId);
    takeovers.forget(boardId);
  }

  function openPath(boardId: BoardId, board: Board): Path {
    const topic = topicOf(boardId, 'down');
    const path: Path = {
      boardId,
      via: 'mqtt',
      mustSeal,
      send(frame) {
        if (board.path !== path || !connection) throw new LinkClosed();
        if (connection.backlog() > MAX_BACKLOG) {
          counters.add('broker_too_slow');
          connection.end();
          throw new LinkClosed();
        }
        connection.publish(topic, frame);
      },
      close(reason) {
        if (board.path === path) closePath(board, reason);
      },
    };
    board.path = path;
    told(() => listener.opened(path));
    return path;
  }

  function closePath(board: Board, reason: string): void {
    const path = board.path;
    if (!path) return;
    delete board.path;
    told(() => listener.closed(path, reason));
  }

  /** A listener that throws ends nothing but its own turn. */
  function told(run: () => void): void {
    try {
      run();
    } catch {
      counters.add('listener_error');
    }
  }

  connect();
  return {
    ready,
    health() {
      let paths = 0;
      for (const board of boards.values()) if (board.path) paths += 1;
      return {
        via: 'mqtt',
        state,
        ...(lastHeardAt === undefined ? {} : { lastHeardAt }),
        ...(detail === undefined ? {} : { detail }),
        paths,
        counters: { ...counters.all },
      };
    },
    close() {
      retry?.cancel();
      const current = connection;
      if (!current) {
        state = 'down';
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        closing ??= resolve;
        current.end();
      });
    },
  };
}
