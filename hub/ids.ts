import { createHash, randomBytes, randomUUID } from 'node:crypto';

export const OWNER_TOKEN = /^mto_[A-Za-z0-9_-]{43}$/;

/** A secret of 256 bits behind a prefix that says what it is; shown once, kept as its hash. */
export function newSecret(prefix: 'mto_' | 'mgw_' | 'tind_' | 'mts_' | 'mtc_'): string {
  return prefix + randomBytes(32).toString('base64url');
}

/** Lower-case hex SHA-256: all that is kept of a secret. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export const newId = (): string => randomUUID();
