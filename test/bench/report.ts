/** What a section of the bench answers: one table, its baseline, and the aims it was held to. */

export type Cell = string | number | null;

export interface Column {
  key: string;
  title: string;
  /** Digits after the point of a number; default 0. */
  digits?: number;
}

export interface Aim {
  name: string;
  /** What it says, with its unit: `p50 under 5 ms`. */
  says: string;
  figure: number;
  met: boolean;
}

export interface Report {
  section: string;
  title: string;
  /** What the ratios are against; measured in the same run. */
  baseline: string;
  columns: Column[];
  rows: Record<string, Cell>[];
  aims: Aim[];
  /** How it was measured, and what the figures don't say. */
  notes: string[];
}

/** Says on the terminal what is going on; never part of a report. */
export type Say = (what: string) => void;

export interface Section {
  name: string;
  run(say: Say): Promise<Report>;
}

export function verdict(met: boolean): string {
  return met ? 'met' : 'missed';
}

function shown(cell: Cell | undefined, digits = 0): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'string') return cell;
  return cell.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** The table as text: first column to the left, all others to the right. */
export function table(columns: readonly Column[], rows: readonly Record<string, Cell>[]): string {
  const lines = [
    columns.map((c) => c.title),
    ...rows.map((row) => columns.map((c) => shown(row[c.key], c.digits))),
  ];
  const widths = columns.map((_, i) =>
    Math.max(...lines.map((line) => [...(line[i] ?? '')].length)),
  );
  const printed = lines.map((line) =>
    line
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  printed.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '));
  return printed.join('\n');
}

export function reportText(report: Report): string {
  const lines = [
    `${report.section}: ${report.title}`,
    `ratios against ${report.baseline}`,
    '',
    table(report.columns, report.rows),
  ];
  const missed = report.aims.filter((aim) => !aim.met);
  if (report.aims.length > 0) {
    lines.push('', `aims met: ${report.aims.length - missed.length} of ${report.aims.length}`);
  }
  for (const { name, says } of missed) lines.push(`missed  ${name}: ${says}`);
  if (report.notes.length > 0) lines.push('');
  for (const note of report.notes) lines.push(`- ${note}`);
  return `${lines.join('\n')}\n`;
}
