/** The credential by which the hub calls a device: kept sealed, sent only to its own origin. */
import { ENROL_SAID, TINY_LIMITS } from '../../protocol/tiny.js';

/** The sentence of the refusal, or undefined where the secret can travel in a header. */
export function secretRefusal(secret: unknown): string | undefined {
  if (typeof secret !== 'string' || secret.trim() === '') return ENROL_SAID.secretRequired;
  if (secret.length > TINY_LIMITS.endpointSecret) return ENROL_SAID.secretTooLong;
  return /^[\x20-\x7e]+$/.test(secret) ? undefined : ENROL_SAID.secretUnfit;
}

/** Shorter ones would blot out ordinary words. */
const TELLING = 8;

/**
 * A device that says its own credential back must not show it to whoever reads the answer: every
 * text of a JSON value, names of fields too, without it. To be asked once the value is parsed,
 * since JSON can write one text in many ways.
 */
export function without<T>(secret: string, value: T): T {
  return secret.length < TELLING ? value : (scrubbed(secret, value) as T);
}

function scrubbed(secret: string, value: unknown): unknown {
  if (typeof value === 'string') {
    return value
      .replaceAll(secret, '[secret]')
      .replaceAll(JSON.stringify(secret).slice(1, -1), '[secret]');
  }
  if (Array.isArray(value)) return value.map((one) => scrubbed(secret, one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [scrubbed(secret, key), scrubbed(secret, one)]),
  );
}
