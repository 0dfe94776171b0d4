/** Readings as a board sends them, turned into names and values in their units. */
import type { BoardCatalog, ReadingDef } from '../../protocol/catalog.js';
import type { Value } from '../../protocol/kinds.js';

/** `2137` at scale −2 is `21.37`; rounding removes the binary dust of the product. */
export function scaled(raw: Value, scale: number): Value {
  if (typeof raw !== 'number' || scale === 0) return raw;
  return scale < 0 ? Number((raw * 10 ** scale).toFixed(-scale)) : raw * 10 ** scale;
}

/** Values by name. Indexes that the catalog lacks, and nulls (no value), are left out. */
export function namedReadings(
  values: Value[] | Map<number, Value>,
  catalog: BoardCatalog,
): Record<string, Value> {
  const named: Record<string, Value> = {};
  const put = (reading: ReadingDef | undefined, raw: Value): void => {
    if (reading && raw !== null) named[reading.name] = scaled(raw, reading.scale);
  };
  const entries: Iterable<[number, Value]> = Array.isArray(values) ? values.entries() : values;
  for (const [index, raw] of entries) put(catalog.readings[index], raw);
  return named;
}
