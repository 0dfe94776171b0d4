/** Blobs in memory, for tests and for hosts without a disk. */
import {
  BLOB_KEY,
  BlobRefused,
  type BlobRoom,
  type BlobStore,
  BlobStoreUnavailable,
} from './blob-store.js';

interface Entry {
  bytes: Uint8Array;
  kept: number;
  sha256?: string;
}

/** At most 64 MiB unless told. */
export function memoryBlobStore(options: BlobRoom = {}): BlobStore {
  const maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
  // In order of their begin, so the oldest come first.
  const entries = new Map<string, Entry>();

  function total(): number {
    let sum = 0;
    for (const entry of entries.values()) sum += entry.bytes.length;
    return sum;
  }

  /** Until `most` bytes are left, or nothing more may go. */
  function makeRoom(most: number): void {
    let sum = total();
    if (sum <= most) return;
    const needed = options.needed?.();
    const free = [...entries].filter(
      ([key, entry]) => entry.sha256 !== undefined && !needed?.has(key),
    );
    // Where all the rest is not enough, none of it goes.
    if (free.reduce((left, [, { bytes }]) => left - bytes.length, sum) > most) return;
    for (const [key, { bytes }] of free) {
      if (sum <= most) return;
      entries.delete(key);
      sum -= bytes.length;
    }
  }

  function known(key: string): Entry {
    const entry = entries.get(key);
    if (!entry) throw new BlobRefused(`No blob ${JSON.stringify(key)} was begun.`);
    return entry;
  }

  return {
    async begin(key, size, sha256) {
      checkBegin(key, size);
      const before = entries.get(key);
      if (before && goesOn(before, size, sha256)) return { offset: before.kept };
      entries.delete(key);
      makeRoom(maxBytes - size);
      if (total() + size > maxBytes) {
        throw new BlobStoreUnavailable(
          `No room for ${size} bytes (at most ${maxBytes} are kept); nothing was stored.`,
        );
      }
      entries.set(key, { bytes: new Uint8Array(size), kept: 0 });
      return { offset: 0 };
    },
    async write(key, offset, bytes) {
      const entry = known(key);
      checkWrite(key, offset, bytes.length, entry.kept, entry.bytes.length);
      if (entry.sha256 === undefined) {
        entry.bytes.set(bytes, offset);
        entry.kept = Math.max(entry.kept, offset + bytes.length);
      }
      return entry.kept;
    },
    async finish(key, sha256) {
      const entry = known(key);
      if (entry.kept < entry.bytes.length) return undefined;
      const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(entry.bytes));
      const hash = hex(new Uint8Array(digest));
      if (hash !== hex(sha256)) {
        entries.delete(key);
        return undefined;
      }
      entry.sha256 = hash;
      return { key, size: entry.bytes.length, sha256: hash };
    },
    async read(key) {
      const entry = entries.get(key);
      return entry?.sha256 === undefined ? undefined : entry.bytes.slice();
    },
    async remove(key) {
      entries.delete(key);
    },
  };
}

function goesOn(entry: Entry, size: number, sha256: Uint8Array | undefined): boolean {
  if (entry.bytes.length !== size) return false;
  return !entry.sha256 || !sha256 || entry.sha256 === hex(sha256);
}

/** Throws `BlobRefused` for a key or a size that no store takes. */
export function checkBegin(key: string, size: number): void {
  if (!BLOB_KEY.test(key)) {
    throw new BlobRefused(`${JSON.stringify(key.slice(0, 140))} can't be a blob's key.`);
  }
  if (!Number.isSafeInteger(size) || size < 0 || size > 0xffff_ffff) {
    throw new BlobRefused(`A blob can't have ${size} bytes.`);
  }
}

/** Throws `BlobRefused` for bytes that leave a gap or go past the end. */
export function checkWrite(
  key: string,
  offset: number,
  length: number,
  kept: number,
  size: number,
): void {
  if (!Number.isSafeInteger(offset) || offset < 0 || offset > kept) {
    throw new BlobRefused(`Blob ${key} has ${kept} bytes; bytes at ${offset} leave a gap.`);
  }
  if (offset + length > size) {
    throw new BlobRefused(
      `Blob ${key} has ${size} bytes; ${offset + length} would be past its end.`,
    );
  }
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
