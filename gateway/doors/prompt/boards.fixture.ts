/** Catalogs for the door's tests, written as a board would tell them. */
import type { BoardCatalog, Verb } from '../../../protocol/catalog.js';
import { parseSignature } from '../../../protocol/signature.js';

export function verb(name: string, signature = '', more: Partial<Verb> = {}): Verb {
  return {
    index: 0,
    name,
    signature: parseSignature(signature),
    description: '',
    protected: false,
    idempotent: false,
    readOnly: false,
    ...more,
  };
}

export function catalogOf(verbs: Verb[], more: Partial<BoardCatalog> = {}): BoardCatalog {
  return {
    name: 'desk',
    platform: 'esp32',
    firmware: '1.0',
    envelopes: false,
    verbs: verbs.map((one, index) => ({ ...one, index })),
    readings: [{ index: 0, name: 't', unit: '°C', scale: -2 }],
    hash: '0011223344556677',
    ...more,
  };
}

export const EINK = catalogOf([
  verb('render_ui', '*'),
  verb('say', 'text:s200'),
  verb('tap', 'x:i0..799 y:i0..479'),
  verb('led', 'color:e(red,green,blue) level?:n0..1 blink?:b'),
  verb('note', 'title:s40 body?:s200'),
  verb('count', 'text:s60 times?:i1..4'),
  verb('draw', 'shape:j'),
  verb('status', '', { description: 'How the board is.', readOnly: true }),
  verb('snapshot'),
]);

export const TALKER = catalogOf([
  ...EINK.verbs,
  verb('chat', 'text:s1000'),
  verb('notify', 'title:s10 body?:s20'),
]);
