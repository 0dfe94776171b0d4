/** How a call ended, as the owner's agent reads it. */
import { MEDIA_KEY } from '../protocol/tiny.js';
import type { HubContext } from './context.js';

const IMAGES = 2;

export interface Answered {
  ok: true;
  result: unknown;
  images?: string[];
  truncated?: true;
  device_id?: string;
  /** None where the device was called and not mailed. */
  envelope_id?: string;
  /** A result that came after the outcome had been told. */
  late?: unknown;
}
export interface NotDone {
  ok: false;
  error: { code: string; message: string };
  outcome: string;
  device_id?: string;
  envelope_id?: string;
  /** A result that came after the outcome had been told. */
  late?: unknown;
}
export interface Pending {
  ok: true;
  pending: true;
  device_id?: string;
  envelope_id: string;
  note: string;
  background?: true;
  /** Unix milliseconds when a sleeping board said it would be back. */
  until?: number;
}
/** A reply as an agent reads it: boards behind a gateway say how it ended, others just answer. */
export function readOutcome(
  ctx: HubContext,
  payload: string,
  ids: { device_id?: string; envelope_id: string },
): Answered | NotDone {
  const value: unknown = JSON.parse(payload);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: true, result: value, ...ids };
  }
  const own = (key: string): unknown =>
    Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  if (own('ok') === false) return { ...readFailure(own), ...ids };
  const images = ownImages(ctx, own('images'));
  const said = own('result');
  return {
    ok: true,
    result: said === undefined ? value : said,
    ...(images.length === 0 ? {} : { images }),
    ...(own('truncated') === true ? { truncated: true } : {}),
    ...ids,
  };
}

function readFailure(own: (key: string) => unknown): NotDone {
  const outcome = own('outcome');
  const error = own('error');
  const field = (key: string): string | undefined => {
    const found =
      typeof error === 'object' && error !== null && Object.hasOwn(error, key)
        ? (error as Record<string, unknown>)[key]
        : undefined;
    return typeof found === 'string' ? found : undefined;
  };
  const said = typeof error === 'string' ? error : own('result');
  return {
    ok: false,
    outcome: typeof outcome === 'string' ? outcome : 'failed',
    error: {
      code: field('code') ?? 'failed',
      message: field('message') ?? (typeof said === 'string' ? said : 'the device said it failed'),
    },
  };
}

/** Pictures on this hub only: a foreign URL is never passed on to be fetched (statement 111). */
function ownImages(ctx: HubContext, images: unknown): string[] {
  if (!Array.isArray(images)) return [];
  const prefixes = ['/media/', ...(ctx.publicUrl === undefined ? [] : [`${ctx.publicUrl}/media/`])];
  return images
    .filter(
      (url): url is string =>
        typeof url === 'string' &&
        prefixes.some(
          (prefix) => url.startsWith(prefix) && MEDIA_KEY.test(url.slice(prefix.length)),
        ),
    )
    .slice(0, IMAGES);
}
