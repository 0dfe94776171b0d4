/**
 * The cards that the display draws, as an agent sends them: `{type, title?, card_id?, footer?,
 * buttons?, priority?, …}` (wire document, B4). Read forgivingly where the meaning is plain
 * (numbers for text, rows as an object or as pairs) and strictly where it is not.
 */
import { z } from 'zod';

/** A card that can't be shown; the message says why and what would do. */
export class CardError extends Error {
  override readonly name = 'CardError';
  constructor(
    readonly code: 'unknown_type' | 'invalid_card' | 'no_web' | 'too_dense' | 'bad_picture',
    message: string,
    readonly cardType: string,
  ) {
    super(message);
  }
}

const words = z.union([z.string(), z.number(), z.boolean()]).transform((v) => String(v));
const label = words.pipe(z.string().trim().min(1).max(200));
const id = words.pipe(z.string().min(1).max(64));

const pressable = z
  .union([
    label.transform((text) => ({ id: text.slice(0, 64), label: text })),
    z.object({ id, label }),
    z.object({ label }).transform(({ label: text }) => ({ id: text.slice(0, 64), label: text })),
    z.object({ id }).transform(({ id: name }) => ({ id: name, label: name })),
  ])
  .describe('a text, or {id, label}');

const common = {
  title: words.optional(),
  card_id: id.optional(),
  footer: words.optional(),
  buttons: z.array(pressable).max(4).optional(),
  priority: z.string().max(16).optional(),
};

const cell = z.unknown().transform((value): string => {
  if (value === null || value === undefined) return '\u2013';
  if (typeof value === 'object') return JSON.stringify(value) ?? '\u2013';
  return String(value);
});
const row = z.union([
  z.tuple([words, cell]).transform(([key, value]) => ({ key, value })),
  z.object({ key: words, value: cell }),
  z.object({ label: words, value: cell }).transform((r) => ({ key: r.label, value: r.value })),
]);
const rows = z
  .union([
    z.array(row),
    z
      .record(z.string(), cell)
      .transform((o) => Object.entries(o).map(([key, value]) => ({ key, value }))),
  ])
  .refine((list) => list.length >= 1 && list.length <= 60, 'takes 1 to 60 rows');

const item = z.union([
  words.transform((text) => ({ text, detail: undefined, done: undefined })),
  z
    .object({
      text: words.optional(),
      title: words.optional(),
      label: words.optional(),
      detail: words.optional(),
      done: z.boolean().optional(),
    })
    .refine((o) => (o.text ?? o.title ?? o.label) !== undefined, 'needs a text')
    .transform((o) => ({
      text: o.text ?? o.title ?? o.label ?? '',
      detail: o.detail,
      done: o.done,
    })),
]);

const message = z.union([
  words.transform((text) => ({ from: '', text })),
  z
    .object({
      from: words.optional(),
      role: words.optional(),
      text: words.optional(),
      content: words.optional(),
    })
    .refine((o) => (o.text ?? o.content) !== undefined, 'needs a text')
    .transform((o) => ({ from: o.from ?? o.role ?? '', text: o.text ?? o.content ?? '' })),
]);

const SCHEMAS = {
  text: z
    .object({ ...common, type: z.literal('text'), body: words.optional() })
    .refine((o) => (o.title ?? '') !== '' || (o.body ?? '') !== '', 'needs a title or a body'),
  list: z.object({ ...common, type: z.literal('list'), items: z.array(item).min(1).max(200) }),
  kv: z.object({ ...common, type: z.literal('kv'), rows }),
  qr: z.object({
    ...common,
    type: z.literal('qr'),
    text: words.pipe(z.string().min(1)),
    caption: words.optional(),
  }),
  chart: z
    .object({
      ...common,
      type: z.literal('chart'),
      data: z.array(z.number()).min(2).max(160),
      style: z.enum(['line', 'bar']).default('line'),
      y_min: z.number().optional(),
      y_max: z.number().optional(),
      unit: words.optional(),
      labels: z.array(words).max(160).optional(),
    })
    .refine(
      (o) => o.y_min === undefined || o.y_max === undefined || o.y_min < o.y_max,
      'needs y_min below y_max',
    ),
  chat: z.object({
    ...common,
    type: z.literal('chat'),
    messages: z.array(message).min(1).max(100),
  }),
  image: z.object({
    ...common,
    type: z.literal('image'),
    data: z.string().min(1).optional(),
    url: z.string().optional(),
    caption: words.optional(),
  }),
  menu: z.object({ ...common, type: z.literal('menu'), items: z.array(pressable).min(1).max(24) }),
} as const;

export type SimpleType = keyof typeof SCHEMAS;
export type CardOf<T extends SimpleType> = z.output<(typeof SCHEMAS)[T]>;
export type SimpleCard = { [T in SimpleType]: CardOf<T> }[SimpleType];
type Common = Pick<CardOf<'list'>, 'title' | 'card_id' | 'footer' | 'buttons' | 'priority'>;
export interface CompositeCard extends Common {
  type: 'composite';
  parts: SimpleCard[];
}
export type Card = SimpleCard | CompositeCard;

/** The types in the order in which help names them. */
export const CARD_TYPES = [
  'text',
  'list',
  'kv',
  'composite',
  'qr',
  'chart',
  'chat',
  'image',
  'menu',
] as const;

const composite = z.object({
  ...common,
  type: z.literal('composite'),
  parts: z.array(z.record(z.string(), z.unknown())).min(1).max(4),
});

/** Reads a card from a call's arguments. Throws CardError only. */
export function parseCard(input: Record<string, unknown>): Card {
  const type = typeof input.type === 'string' ? input.type : '';
  if (type !== 'composite') return parseSimple(input, 'the card');
  const outer = read(composite, input, type, 'the card');
  const parts = outer.parts.map((part, i) => parseSimple(part, `part ${i + 1}`));
  return { ...outer, parts };
}

function parseSimple(input: Record<string, unknown>, where: string): SimpleCard {
  const type = typeof input.type === 'string' ? input.type : '';
  const schema = Object.hasOwn(SCHEMAS, type) ? SCHEMAS[type as SimpleType] : undefined;
  if (!schema) {
    const shown = type === '' ? 'no type' : `the type "${type.slice(0, 32)}"`;
    const inside = type === 'composite' ? ' (a composite holds simple cards only)' : '';
    throw new CardError(
      'unknown_type',
      `${where} has ${shown}${inside}; this display draws ${CARD_TYPES.join(', ')}`,
      type,
    );
  }
  const card: SimpleCard = read(schema as z.ZodType<SimpleCard>, input, type, where);
  if (card.type === 'image' && card.data === undefined) {
    if (card.url !== undefined) {
      throw new CardError(
        'no_web',
        'this display has no web access and can’t fetch image.url; send the picture as base64 in image.data',
        type,
      );
    }
    throw new CardError('invalid_card', 'an image card needs data: a PNG or JPEG as base64', type);
  }
  return card;
}

function read<T>(schema: z.ZodType<T>, input: unknown, type: string, where: string): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  const why = (issue?.message ?? 'is not valid').slice(0, 160);
  throw new CardError(
    'invalid_card',
    `${where} of type ${type} is not valid: ${path === '' ? '' : `${path}: `}${why}`,
    type,
  );
}

/** A card's id: its own, or one made from its content (FNV-1a, 32 bits). */
export function cardIdOf(card: Card): string {
  if (card.card_id !== undefined) return card.card_id;
  let hash = 0x811c9dc5;
  for (const unit of JSON.stringify(card)) {
    hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return `c${hash.toString(16).padStart(8, '0')}`;
}
