/** Where blobs are kept while they arrive and until they are delivered. No I/O here. */

/** `[A-Za-z0-9._-]`, 1 to 128 characters, not starting with a dot. */
export const BLOB_KEY = /^(?!\.)[A-Za-z0-9._-]{1,128}$/;

/** The store can't take or give bytes now (full, broken disk); nothing may be acknowledged. */
export class BlobStoreUnavailable extends Error {
  override readonly name = 'BlobStoreUnavailable';
}

/** What was asked makes no sense for this blob (bad key, bytes out of order or past its size). */
export class BlobRefused extends Error {
  override readonly name = 'BlobRefused';
}

/** A blob that is whole, verified and durable. */
export interface StoredBlob {
  key: string;
  /** Bytes. */
  size: number;
  /** SHA-256 as 64 hex digits. */
  sha256: string;
}

/** How much a store keeps, and what it gives up for more. */
export interface BlobRoom {
  /** Bytes of all blobs together. */
  maxBytes?: number;
  /**
   * Keys of blobs that must not go. Others make room for new ones, the oldest first; where that
   * is not enough `begin` rejects. Default: none.
   */
  needed?(): ReadonlySet<string>;
}

/**
 * Calls for one key are carried out in the order they were made. Rejects with `BlobRefused` or
 * `BlobStoreUnavailable`.
 */
export interface BlobStore {
  /**
   * Opens a blob of `size` bytes, or goes on with what an earlier begin kept: `offset` bytes are
   * here already (all of them if it was finished before). Another size, or a finished blob with
   * another hash than `sha256`, starts from nothing.
   */
  begin(key: string, size: number, sha256?: Uint8Array): Promise<{ offset: number }>;
  /** Bytes at `offset`, which may overlap what is kept but leave no gap; resolves to the bytes kept. */
  write(key: string, offset: number, bytes: Uint8Array): Promise<number>;
  /**
   * Compares the hash; resolves when the blob is durable. Undefined where bytes are missing or
   * the hash differs: a wrong blob is removed.
   */
  finish(key: string, sha256: Uint8Array): Promise<StoredBlob | undefined>;
  /** A finished blob's bytes; undefined if there is none. */
  read(key: string): Promise<Uint8Array | undefined>;
  /** Removes it, finished or not. */
  remove(key: string): Promise<void>;
}
