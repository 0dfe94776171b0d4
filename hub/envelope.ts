/** What an envelope is, and what is said when its answer is late or never comes. */
import { cutText, TINY_LIMITS } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import { query, tables } from './db/query.js';
import type { NewEvent } from './events.js';
import { type Notice, redeemUrl } from './notices.js';

/** Of an ask, in a push. */
const ASK_SHOWN = 140;

export type EnvelopeKind = 'invoke' | 'notify' | 'other' | 'unreadable';

interface Fields {
  type: unknown;
  prompt: string | undefined;
}

function fieldsOf(payload: string): Fields | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const own = (key: string): unknown =>
    Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  const prompt = own('prompt');
  return {
    type: own('type'),
    prompt: typeof prompt === 'string' && prompt.trim() !== '' ? prompt : undefined,
  };
}

/** By the parsed type, never by a search in the text (statement 60). */
export function envelopeKind(payload: string): EnvelopeKind {
  const fields = fieldsOf(payload);
  if (!fields) return 'unreadable';
  if (fields.type === 'invoke') return 'invoke';
  if (fields.type === undefined) return fields.prompt === undefined ? 'unreadable' : 'invoke';
  return fields.type === 'notify' ? 'notify' : 'other';
}

/** The prompt, cut to what a sentence can hold. */
export function promptOf(payload: string, units: number): string | undefined {
  const prompt = fieldsOf(payload)?.prompt;
  return prompt === undefined ? undefined : cutText(prompt, units);
}

const deviceName = query<{ id: string }>()((p) =>
  tables.selectFrom('devices').where('id', '=', p.id).select(['id', 'name']),
);

export function nameOf(w: Sync, deviceId: string): string {
  const name = deviceName.get(w, { id: deviceId })?.name ?? 'A device';
  return cutText(name, TINY_LIMITS.eventName);
}

interface Asked {
  id: string;
  owner_id: string;
  device_id: string;
  kind: string;
  payload: string;
  created_ms: number;
}

/** The announcement of a reply that came more than 45 s after its request (66, 68, 69). */
export function lateEvent(w: Sync, row: Asked, ms: number): NewEvent | undefined {
  const age = ms - row.created_ms;
  if (!(age > TINY_LIMITS.lateS * 1000)) return undefined;
  if (row.kind !== 'invoke' && row.kind !== 'unreadable') return undefined;
  const name = nameOf(w, row.device_id);
  const ask = promptOf(row.payload, 90);
  const what = ask === undefined ? '' : `: "${ask}"`;
  return {
    ownerId: row.owner_id,
    device: { id: row.device_id, name },
    kind: 'device_result',
    detail:
      `${name} device finished after ${Math.floor(age / 1000)}s${what} — read it with ` +
      `use_device action:'result' envelope_id:'${row.id}'`,
    at: ms,
  };
}

/** The same for push: it carries the ask and never the result (statement 67). */
export function lateNotice(w: Sync, row: Asked): Notice {
  return {
    title: `💻 ${nameOf(w, row.device_id)} finished`,
    body: promptOf(row.payload, ASK_SHOWN) ?? 'What you asked for is done.',
    tag: `device-result-${row.id}`,
    url: redeemUrl(row.id),
  };
}
