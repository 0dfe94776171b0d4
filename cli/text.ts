/** Text for people: whatever a board or a hub says is cleaned before it reaches a terminal. */

/** Control characters (escape sequences begin with one) and marks that turn text around. */
function acts(point: number): boolean {
  if (point < 0x20) return point !== 0x09 && point !== 0x0a;
  if (point >= 0x7f && point <= 0x9f) return true;
  return (
    point === 0x200e ||
    point === 0x200f ||
    (point >= 0x202a && point <= 0x202e) ||
    (point >= 0x2066 && point <= 0x2069)
  );
}

/** Keeps line ends and tabs, shows everything else that a terminal would act on as `?`. */
export function clean(text: string): string {
  const points = Array.from(text.replaceAll('\r\n', '\n'));
  return points.map((c) => (acts(c.codePointAt(0) ?? 0) ? '?' : c)).join('');
}

/** As `clean`, on one line and at most `max` characters. */
export function oneLine(text: string, max = 200): string {
  const flat = clean(text).replace(/\s+/g, ' ').trim();
  const points = [...flat];
  return points.length <= max ? flat : `${points.slice(0, max - 1).join('')}…`;
}

/** Left-aligned columns, two spaces apart; the last column is not padded. */
export function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows.map((row) => row.map((cell) => oneLine(cell, 72)))];
  const widths = head.map((_, i) => Math.max(...all.map((row) => [...(row[i] ?? '')].length)));
  const line = (row: string[]): string =>
    row
      .map((cell, i) =>
        i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - [...cell].length),
      )
      .join('  ')
      .trimEnd();
  return all.map(line).join('\n');
}

/** `3 s`, `12 min`, `5 h`, `2 d`: how long ago, roughly. */
export function ago(seconds: number): string {
  if (seconds < 1) return 'now';
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
}

/** A value as a person reads it: text as it is, everything else as indented JSON. */
export function show(value: unknown): string {
  if (typeof value === 'string') return clean(value);
  if (value === undefined || value === null) return '(no value)';
  return clean(JSON.stringify(value, null, 2));
}
