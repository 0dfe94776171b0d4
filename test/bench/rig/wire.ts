/** What the bench asks of its child processes, each answered once. */

export interface BoardSeed {
  boardId: string;
  /** 16 bytes as hex. */
  key: string;
}

/**
 * What a host runs: `broker` the embedded broker with nobody behind it; `gateway` the gateway
 * with its journal, blobs and board book behind it; `stack` those, the relay door and the hub in
 * one process, as `motebridge start` has them.
 */
export type HostMode = 'broker' | 'gateway' | 'stack';

export type HostRequests = {
  start: {
    ask: { mode: HostMode; home: string; boards: BoardSeed[] };
    answer: { port: number; url?: string; token?: string };
  };
  /** Boards with a path, boards that can be called, and what the broker has counted. */
  counts: {
    ask: Record<string, never>;
    answer: { paths: number; online: number; frames: number; counters: Record<string, number> };
  };
  /** After a full collection, in bytes. */
  memory: { ask: Record<string, never>; answer: Memory };
  /** Microseconds of CPU so far, user and system, and the time in ms. */
  cpu: { ask: Record<string, never>; answer: { us: number; at: number } };
  /** Sends frames of `bytes` to an echoing client, one after the other; milliseconds of each. */
  echo: { ask: { boardId: string; times: number; bytes: number }; answer: number[] };
  /** The same call over the switchboard, without hub and HTTP; milliseconds of each. */
  call: { ask: { boardIds: string[]; verb: string; times: number }; answer: number[] };
  /** Appends a page to a file and syncs it, one after the other; milliseconds of each. */
  disk: { ask: { home: string; times: number }; answer: number[] };
  /** Starts (with `begin`) or ends a CPU profile of this process; the answer is its JSON. */
  profile: { ask: { begin: boolean }; answer: string };
  stop: { ask: Record<string, never>; answer: null };
};

export interface Memory {
  heap: number;
  /** Outside the heap: buffers and what native parts hold. */
  external: number;
  rss: number;
}

export type ClientKind = 'bare' | 'stating' | 'echo' | 'board';

export type FleetRequests = {
  /**
   * Connects clients; answers when each is ready: `bare` has subscribed, `stating` has a will and
   * a retained state too, as a board has, `echo` as well and sends back what it gets, `board` is a
   * simulated board that has been welcomed.
   */
  connect: {
    ask: { port: number; kind: ClientKind; boards: BoardSeed[] };
    answer: { ms: number };
  };
  /** Bare clients publish a beat each `everyS` seconds after they came. */
  beat: { ask: { everyS: number }; answer: null };
  stop: { ask: Record<string, never>; answer: null };
};

export type Requests = Record<string, { ask: unknown; answer: unknown }>;

/** Serves requests of the parent process; a handler that rejects answers with its message. */
export function serve<R extends Requests>(
  handlers: {
    [K in keyof R]: (ask: R[K]['ask']) => Promise<R[K]['answer']> | R[K]['answer'];
  },
): void {
  process.on('message', (raw: { id: number; what: string; ask: never }) => {
    const handler = handlers[raw.what];
    const run = async (): Promise<unknown> => {
      if (!handler) throw new Error(`nobody here answers ${raw.what}`);
      return handler(raw.ask);
    };
    run().then(
      (answer) => process.send?.({ id: raw.id, answer }),
      (error: unknown) => {
        const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
        process.send?.({ id: raw.id, error: why });
      },
    );
  });
  // A parent that is gone leaves nothing behind.
  process.on('disconnect', () => process.exit(0));
}
