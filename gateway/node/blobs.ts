/**
 * Blobs in a folder. A blob that is arriving is `<key>~<size>.part`, a whole one `<key>.blob`;
 * the name changes only after the hash fits and the bytes are on the disk, so a crash leaves
 * either a part that can be gone on with or a whole blob.
 */
import { createHash } from 'node:crypto';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../store/files.js';
import {
  BlobRefused,
  type BlobRoom,
  type BlobStore,
  BlobStoreUnavailable,
} from '../core/blob-store.js';
import { checkBegin, checkWrite, hex } from '../core/memory-blob-store.js';

interface Part {
  file: string;
  size: number;
  kept: number;
}

interface Kept {
  key: string;
  file: string;
  bytes: number;
  /** What it takes when it is whole. */
  size: number;
  whole: boolean;
  changedAt: number;
}

const NAME = /^(.+?)(?:~(\d+)\.part|\.blob)$/;

/** Makes the folder if need be; at most 1 GiB unless told. Rejects with `BlobStoreUnavailable`. */
export async function openBlobStore(folder: string, options: BlobRoom = {}): Promise<BlobStore> {
  const maxBytes = options.maxBytes ?? 1024 ** 3;
  const parts = new Map<string, Part>();
  const turns = new Map<string, Promise<unknown>>();
  await disk(() => mkdir(folder, { recursive: true, mode: 0o700 }));

  const whole = (key: string): string => join(folder, `${key}.blob`);

  /** One thing at a time for each key. */
  function inTurn<T>(key: string, run: () => Promise<T>): Promise<T> {
    const turn = (turns.get(key) ?? Promise.resolve()).catch(() => {}).then(() => disk(run));
    turns.set(key, turn);
    const over = (): void => {
      if (turns.get(key) === turn) turns.delete(key);
    };
    turn.then(over, over);
    return turn;
  }

  async function all(): Promise<Kept[]> {
    const kept: Kept[] = [];
    for (const name of await readdir(folder)) {
      const [, key, size] = NAME.exec(name) ?? [];
      if (key === undefined) continue;
      const file = join(folder, name);
      const info = await stat(file).catch(() => undefined);
      if (!info) continue;
      const isWhole = size === undefined;
      kept.push({
        key,
        file,
        bytes: info.size,
        size: isWhole ? info.size : Number(size),
        whole: isWhole,
        changedAt: info.mtimeMs,
      });
    }
    return kept.sort((a, b) => a.changedAt - b.changedAt);
  }

  /** Whether at most `most` bytes are left, once those that nobody needs have gone for it. */
  async function makeRoom(others: Kept[], most: number): Promise<boolean> {
    let sum = others.reduce((total, each) => total + each.size, 0);
    if (sum <= most) return true;
    const needed = options.needed?.();
    // What is arriving now stays. Where all the rest is not enough, none of it goes.
    const free = others.filter(
      (each) => !needed?.has(each.key) && (each.whole || !parts.has(each.key)),
    );
    if (free.reduce((left, each) => left - each.size, sum) > most) return false;
    for (const each of free) {
      if (sum <= most) break;
      await rm(each.file, { force: true });
      sum -= each.size;
    }
    return true;
  }

  async function removeAll(key: string): Promise<void> {
    parts.delete(key);
    for (const kept of await all()) if (kept.key === key) await rm(kept.file, { force: true });
  }

  return {
    async begin(key, size, sha256) {
      checkBegin(key, size);
      return inTurn(key, async () => {
        const bytes = await readFile(whole(key)).catch(absent);
        if (bytes && bytes.length === size && (!sha256 || hash(bytes) === hex(sha256))) {
          parts.delete(key);
          return { offset: size };
        }
        const kept = await all();
        const before = kept.find((each) => each.key === key && !each.whole && each.size === size);
        const others = kept.filter((each) => each.key !== key);
        if (!(await makeRoom(others, maxBytes - size))) {
          throw new BlobStoreUnavailable(
            `No room for ${size} bytes (at most ${maxBytes} are kept); nothing was stored.`,
          );
        }
        for (const each of kept) {
          if (each.key === key && each !== before) await rm(each.file, { force: true });
        }
        const file = join(folder, `${key}~${size}.part`);
        if (!before) await (await open(file, 'w', 0o600)).close();
        // More than its size can only be the trace of a broken disk: begun anew.
        const offset = before && before.bytes <= size ? before.bytes : 0;
        parts.set(key, { file, size, kept: offset });
        return { offset };
      });
    },

    write: (key, offset, bytes) =>
      inTurn(key, async () => {
        const part = parts.get(key);
        if (!part) {
          const info = await stat(whole(key)).catch(absent);
          if (!info) throw notBegun(key);
          checkWrite(key, offset, bytes.length, info.size, info.size);
          return info.size;
        }
        checkWrite(key, offset, bytes.length, part.kept, part.size);
        await withFile(part.file, 'r+', async (file) => {
          let done = 0;
          while (done < bytes.length) {
            done += (await file.write(bytes, done, bytes.length - done, offset + done))
              .bytesWritten;
          }
        });
        part.kept = Math.max(part.kept, offset + bytes.length);
        return part.kept;
      }),

    finish: (key, sha256) =>
      inTurn(key, async () => {
        const part = parts.get(key);
        const source = part?.file ?? whole(key);
        const bytes = await readFile(source).catch(absent);
        if (!bytes) throw notBegun(key);
        if (part && part.kept < part.size) return undefined;
        const found = hash(bytes);
        if (found !== hex(sha256) || (part && bytes.length !== part.size)) {
          await removeAll(key);
          return undefined;
        }
        if (part) {
          await withFile(part.file, 'r+', (file) => file.sync());
          await rename(part.file, whole(key));
          await syncFolder(folder);
          parts.delete(key);
        }
        return { key, size: bytes.length, sha256: found };
      }),

    read: (key) =>
      inTurn(key, async () => {
        const bytes = await readFile(whole(key)).catch(absent);
        return bytes && new Uint8Array(bytes);
      }),

    remove: (key) => inTurn(key, () => removeAll(key)),
  };
}

function notBegun(key: string): BlobRefused {
  return new BlobRefused(`No blob ${JSON.stringify(key)} was begun.`);
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** For a file that is not there. */
function absent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}

async function withFile<T>(
  path: string,
  flags: string,
  run: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, flags);
  try {
    return await run(file);
  } finally {
    await file.close();
  }
}

async function disk<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof BlobRefused || error instanceof BlobStoreUnavailable) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new BlobStoreUnavailable(
      `The blob folder can’t be used (${code}); nothing was stored. Look at the disk, then try again.`,
      { cause: error },
    );
  }
}
