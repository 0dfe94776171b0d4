/**
 * Small secrets at rest: AES-256-GCM under a key file that only its owner can read. A copy of
 * the database without that file opens nothing.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { chmod, readFile, stat } from 'node:fs/promises';
import { createFile } from './files.js';

/** The key file is missing its 32 bytes or can't be read. */
export class SecretsUnavailable extends Error {
  override readonly name = 'SecretsUnavailable';
}

/** A sealed text was made with another key, for another place, or was changed. */
export class SecretUnreadable extends Error {
  override readonly name = 'SecretUnreadable';
  constructor() {
    super(
      'A stored secret does not open: it was made with another key file, or was changed. ' +
        'Restore the key file that belongs to this home, or add what it is for anew.',
    );
  }
}

export interface Secrets {
  /** `place` (a room and a key, say) must be the same to open: sealed texts can't be swapped. */
  seal(text: string, place: string): string;
  /** Throws `SecretUnreadable`. */
  open(sealed: string, place: string): string;
}

const VERSION = 'v1.';
const NONCE = 12;
const TAG = 16;

/** Makes the key file (0600) the first time. Rejects with `SecretsUnavailable`. */
export async function openSecrets(file: string): Promise<Secrets> {
  return sealing(await readKey(file));
}

/** Under a key that ends with this process. */
export function passingSecrets(): Secrets {
  return sealing(randomBytes(32));
}

function sealing(key: Buffer): Secrets {
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final()];
      return VERSION + Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url');
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64url');
      if (!sealed.startsWith(VERSION) || bytes.length < NONCE + TAG) throw new SecretUnreadable();
      const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), {
        authTagLength: TAG,
      });
      cipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG));
      try {
        const text = [cipher.update(bytes.subarray(NONCE, -TAG)), cipher.final()];
        return Buffer.concat(text).toString('utf8');
      } catch {
        throw new SecretUnreadable();
      }
    },
  };
}

async function readKey(file: string): Promise<Buffer> {
  try {
    await createFile(file, randomBytes(32));
    if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0) {
      await chmod(file, 0o600);
    }
    const key = await readFile(file);
    if (key.length === 32) return key;
    throw new SecretsUnavailable(
      `The key file ${file} has ${key.length} bytes instead of 32; no secret can be read. ` +
        'Restore it from a copy.',
    );
  } catch (error) {
    if (error instanceof SecretsUnavailable) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new SecretsUnavailable(
      `The key file ${file} can’t be used (${code}); no secret can be read. Mend its permissions.`,
      { cause: error },
    );
  }
}
