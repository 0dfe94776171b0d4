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

/** A device that says its own credential back must not show it to whoever reads the answer. */
export function without(secret: string, text: string): string {
  if (secret.length < TELLING) return text;
  return text
    .replaceAll(secret, '[secret]')
    .replaceAll(JSON.stringify(secret).slice(1, -1), '[secret]');
}
