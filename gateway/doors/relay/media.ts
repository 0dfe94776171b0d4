/** Blobs of outcomes and items, put where their receivers can fetch them. */
import { mediaTypeOf, TINY_LIMITS } from '../../../protocol/tiny.js';
import type { BlobRef, BoardId, Outcome } from '../../core/types.js';
import { isTransient } from './client.js';
import type { RelayDeps } from './deps.js';
import type { Pictures } from './reply.js';

export type Upload = (
  boardId: BoardId,
  bytes: Uint8Array,
  contentType: string,
) => Promise<{ url: string }>;

/** URLs remembered, so that a reply that is tried again uploads nothing twice. */
const KEPT = 256;

export class Media {
  readonly #deps: RelayDeps;
  readonly #upload: Upload;
  readonly #urls = new Map<string, string>();

  constructor(deps: RelayDeps, upload: Upload) {
    this.#deps = deps;
    this.#upload = upload;
  }

  /** Rejects when the hub can't take them now; what it never takes is described in a note. */
  async pictures(boardId: BoardId, outcome: Outcome | undefined): Promise<Pictures> {
    const pictures: Pictures = { urls: [], notes: [] };
    if (outcome?.kind !== 'ok') return pictures;
    for (const ref of outcome.blobs) {
      const put = await this.#put(boardId, ref);
      if ('url' in put) pictures.urls.push(put.url);
      else pictures.notes.push(put.note);
    }
    return pictures;
  }

  /** A recording that a board's transcript or question names, where it can be had. */
  async recording(boardId: BoardId, bootId: number, blobId: number): Promise<string | undefined> {
    const key = `${boardId}-${bootId}-${blobId}`;
    const known = this.#urls.get(key);
    if (known !== undefined) return known;
    const bytes = await this.#deps.blobs?.read(key);
    if (!bytes || bytes.length > TINY_LIMITS.mediaBytes) return undefined;
    return this.#kept(key, (await this.#upload(boardId, bytes, audioType(bytes))).url);
  }

  async #put(boardId: BoardId, ref: BlobRef): Promise<{ url: string } | { note: string }> {
    const known = this.#urls.get(ref.key);
    if (known !== undefined) return { url: known };
    const what = `A blob (${ref.mediaType}, ${ref.size} bytes, ${ref.purpose})`;
    const type = mediaTypeOf(ref.mediaType);
    if (!type?.startsWith('image/')) return { note: `${what} stays on the gateway.` };
    if (ref.size > TINY_LIMITS.mediaBytes) {
      return { note: `${what} is larger than the hub takes (${TINY_LIMITS.mediaBytes}).` };
    }
    const bytes = await this.#deps.blobs?.read(ref.key);
    if (!bytes) return { note: `${what} is no longer on the gateway.` };
    try {
      return { url: this.#kept(ref.key, (await this.#upload(boardId, bytes, type)).url) };
    } catch (error) {
      if (isTransient(error)) throw error;
      this.#deps.counters.count('media.refused');
      return { note: `${what} was refused by the hub.` };
    }
  }

  #kept(key: string, url: string): string {
    const [oldest] = this.#urls.keys();
    if (this.#urls.size >= KEPT && oldest !== undefined) this.#urls.delete(oldest);
    this.#urls.set(key, url);
    return url;
  }
}

/** By its first bytes, since a stored recording has lost its declared type. */
export function audioType(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith('RIFF')) return 'audio/wav';
  if (head.startsWith('OggS')) return 'audio/ogg';
  if (head.slice(4, 8) === 'ftyp') return 'audio/mp4';
  if (head.startsWith('ID3') || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0)) {
    return 'audio/mpeg';
  }
  return 'application/octet-stream';
}
