/** A board that is heard, in words. */
import type { SightingShown } from './pair-admin.js';

/** Four bars from −60 dBm up, none below −90. */
export function bars(rssi: number): string {
  const count = rssi >= 20 ? 0 : Math.max(0, Math.min(4, Math.ceil((rssi + 90) / 8)));
  return '▂▄▆█'.slice(0, count).padEnd(4, '·');
}

export const idOf = ({ boardId, idPrefix }: SightingShown): string =>
  boardId ?? (idPrefix === undefined ? '' : `${idPrefix}…`);

export function needs({ needs: wanted, paired }: SightingShown): string {
  if (paired) return 'paired with a gateway already';
  return { code: 'its set-up code', bind_key: 'its bind key', none: 'nothing' }[wanted];
}
