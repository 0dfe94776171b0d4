/**
 * Each board behind the gateway as an endpoint device: the three routes by which a hub elsewhere
 * calls a device by its URL (wire document, part A8). The bearer says which board is meant, so
 * one origin serves them all.
 */
import type { BlobStore } from '../core/blob-store.js';
import { JournalUnavailable } from '../core/journal.js';
import type { BoardId, BoardView, Outcome, Switchboard } from '../core/types.js';
import { plainJson } from './prompt/plain.js';
import { readPrompt } from './prompt/prompt.js';

export interface EndpointDoorOptions {
  switchboard: Switchboard;
  blobs: Pick<BlobStore, 'read'>;
  /** The board that a bearer speaks for; compares in constant time. */
  boardOf(secret: string): BoardId | undefined;
  /** Whether prompts may run protected verbs; default false. */
  allowProtected?: boolean;
}

/** Answers one request; never rejects. Aborting the request's signal cancels its call. */
export type EndpointDoor = (request: Request) => Promise<Response>;

/** Below the caller's budgets of 90 s and 10 s, so that it hears an answer and not a silence. */
const CHAT_MS = 75_000;
const SNAPSHOT_MS = 8_000;
/** UTF-16 units of a prompt. */
const MAX_PROMPT = 8_192;
/** Chats that one board may have open; the rest is told to wait. */
const MAX_CHATS = 4;
const PICTURES = ['image/jpeg', 'image/png', 'image/webp'];

export function createEndpointDoor(options: EndpointDoorOptions): EndpointDoor {
  const door = new Door(options);
  return (request) =>
    door.answer(request).catch((error) => {
      const why =
        error instanceof JournalUnavailable
          ? 'the gateway can’t keep calls now; nothing was run'
          : 'the gateway failed; look at its log';
      return json(503, { error: why });
    });
}

class Door {
  readonly #options: EndpointDoorOptions;
  readonly #chats = new Map<BoardId, number>();
  /** Viewers of the same moment share one picture. */
  readonly #snapshots = new Map<BoardId, Promise<Outcome>>();

  constructor(options: EndpointDoorOptions) {
    this.#options = options;
  }

  async answer(request: Request): Promise<Response> {
    const bearer = /^bearer +(\S{1,256})$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    const id = bearer === undefined ? undefined : this.#options.boardOf(bearer);
    const board = id === undefined ? undefined : this.#options.switchboard.board(id);
    if (!board) return json(401, { error: 'unauthorized' });
    switch (`${request.method} ${new URL(request.url).pathname}`) {
      case 'GET /api/telemetry':
        return json(200, telemetry(board));
      case 'GET /api/camera/snapshot':
        return this.#snapshot(board);
      case 'POST /api/chat':
        return this.#chat(board, request);
      default:
        return json(404, { error: 'not found' });
    }
  }

  async #snapshot(board: BoardView): Promise<Response> {
    if (!board.catalog?.verbs.some(({ name }) => name === 'snapshot')) {
      return json(404, { error: 'this board takes no snapshots' });
    }
    let taking = this.#snapshots.get(board.id);
    if (!taking) {
      const call = { boardId: board.id, verb: 'snapshot', args: {}, ttlMs: SNAPSHOT_MS };
      taking = this.#options.switchboard.call(call).finally(() => this.#snapshots.delete(board.id));
      this.#snapshots.set(board.id, taking);
    }
    const outcome = await taking;
    if (outcome.kind !== 'ok') return json(503, { error: outcome.message });
    const picture = outcome.blobs.find(({ mediaType }) => PICTURES.includes(mediaType));
    const bytes = picture && (await this.#options.blobs.read(picture.key));
    if (!picture || !bytes) return json(503, { error: 'no frame' });
    return answer(200, picture.mediaType, bytes);
  }

  async #chat(board: BoardView, request: Request): Promise<Response> {
    const prompt = promptIn(await request.text());
    if (prompt === undefined) return json(400, { error: 'prompt required' });
    if (prompt.length > MAX_PROMPT) return json(413, { error: 'prompt too long' });
    const { catalog } = board;
    if (!catalog) return json(503, { error: 'the board has not told its verbs yet' });
    const read = readPrompt(prompt, catalog);
    if (read.kind === 'answer') return told(read.outcome);
    const open = this.#chats.get(board.id) ?? 0;
    if (open >= MAX_CHATS) return json(429, { error: 'the board is busy; ask again in a moment' });
    this.#chats.set(board.id, open + 1);
    const key = `endpoint:${crypto.randomUUID()}`;
    const gone = (): void => this.#options.switchboard.cancel(key);
    request.signal.addEventListener('abort', gone);
    try {
      const outcome = await this.#options.switchboard.call({
        key,
        boardId: board.id,
        verb: read.verb,
        args: read.args,
        ttlMs: CHAT_MS,
        allowProtected: this.#options.allowProtected ?? false,
      });
      return outcome.kind === 'unreachable' ? json(503, { error: outcome.message }) : told(outcome);
    } finally {
      request.signal.removeEventListener('abort', gone);
      this.#chats.set(board.id, (this.#chats.get(board.id) ?? 1) - 1);
    }
  }
}

/** What the gateway knows of a board, without asking it: a board that sleeps is not woken. */
function telemetry(board: BoardView): object {
  const { name, presence, via, battery, catalog, readings } = board;
  return {
    name,
    online: presence.state === 'online',
    presence,
    via,
    ...(battery === undefined ? {} : { battery }),
    ...(catalog && { platform: catalog.platform, firmware: catalog.firmware }),
    verbs: catalog?.verbs.map((verb) => verb.name) ?? [],
    readings: Object.fromEntries(
      Object.entries(readings).map(([key, { value, at }]) => [
        key,
        { value: plainJson(value), at },
      ]),
    ),
  };
}

function told(outcome: Outcome): Response {
  if (outcome.kind !== 'ok') {
    return json(200, { ok: false, outcome: outcome.kind, result: outcome.message });
  }
  const count = outcome.blobs.length;
  const made = count === 0 ? {} : { note: `${count} blobs stay on the gateway; use the snapshot.` };
  return json(200, { ok: true, outcome: 'ok', result: plainJson(outcome.value), ...made });
}

function promptIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || !('prompt' in body)) return undefined;
    const { prompt } = body;
    return typeof prompt === 'string' && prompt.trim() !== '' ? prompt : undefined;
  } catch {
    return undefined;
  }
}

function json(status: number, body: object): Response {
  return answer(status, 'application/json', JSON.stringify(body));
}

function answer(status: number, type: string, body: string | Uint8Array): Response {
  return new Response(body as BodyInit, {
    status,
    headers: {
      'content-type': type,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
