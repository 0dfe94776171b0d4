/**
 * Keys seen in the map that is being checked, one row for each level. Small maps compare in
 * place; only a large map out of order pays for a set.
 */
const LEVELS = 9;
const PER_MAP = 1024;
const SMALL = 12;

const first = new Float64Array(LEVELS * PER_MAP);
const lengths = new Int32Array(LEVELS * PER_MAP);
const highest = new Float64Array(LEVELS);
const sets: (Set<number | string> | undefined)[] = new Array(LEVELS).fill(undefined);
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Begins a map at this level. */
export function keySpace(level: number): void {
  highest[level] = -1;
  sets[level] = undefined;
}

/** Notes the `i`-th key; false if the map has it already. */
export function noteIntKey(level: number, i: number, key: number): boolean {
  const row = level * PER_MAP;
  first[row + i] = key;
  if (key > (highest[level] as number)) {
    highest[level] = key;
    sets[level]?.add(key);
    return true;
  }
  if (i <= SMALL) {
    for (let k = 0; k < i; k++) if (first[row + k] === key) return false;
    return true;
  }
  let set = sets[level];
  if (!set) {
    set = new Set(first.subarray(row, row + i));
    sets[level] = set;
  }
  return set.size !== set.add(key).size;
}

/** Notes the `i`-th key, `length` bytes at `start`; false if the map has it already. */
export function noteTextKey(
  b: Uint8Array,
  level: number,
  i: number,
  start: number,
  length: number,
): boolean {
  const row = level * PER_MAP;
  first[row + i] = start;
  lengths[row + i] = length;
  if (i <= SMALL) {
    for (let k = 0; k < i; k++) {
      if (lengths[row + k] === length && same(b, first[row + k] as number, start, length)) {
        return false;
      }
    }
    return true;
  }
  let set = sets[level];
  if (!set) {
    set = new Set();
    for (let k = 0; k < i; k++) {
      set.add(textOf(b, first[row + k] as number, lengths[row + k] as number));
    }
    sets[level] = set;
  }
  return set.size !== set.add(textOf(b, start, length)).size;
}

function textOf(b: Uint8Array, start: number, length: number): string {
  return decoder.decode(b.subarray(start, start + length));
}

function same(b: Uint8Array, one: number, two: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (b[one + i] !== b[two + i]) return false;
  return true;
}
