/**
 * `npm run bench [-- section …] [-- --json file]`: one table for each section, with ratios
 * against a baseline of the same run. Absolute rates drift with the machine; the ratios count.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { bytes } from './bytes.js';
import { call } from './call.js';
import { codec } from './codec.js';
import { heartbeat } from './heartbeat.js';
import { hub } from './hub.js';
import { machine } from './machine.js';
import { memory } from './memory.js';
import { radio } from './radio.js';
import { type Report, reportText, type Section } from './report.js';
import { segments } from './segments.js';

const SECTIONS: readonly Section[] = [bytes, codec, segments, radio, call, memory, heartbeat, hub];

function chosen(names: readonly string[]): readonly Section[] {
  const unknown = names.filter((name) => !SECTIONS.some((section) => section.name === name));
  if (unknown.length > 0) {
    const known = SECTIONS.map((section) => section.name).join(', ');
    throw new Error(`there is no section ${unknown.join(', ')}; nothing ran; choose from ${known}`);
  }
  return names.length === 0 ? SECTIONS : SECTIONS.filter(({ name }) => names.includes(name));
}

function why(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'string' } },
  });
  const sections = chosen(positionals);
  const about = machine();
  process.stdout.write(`${about.words}\n\n`);
  const say = (what: string): void => {
    process.stderr.write(`  ${what}\n`);
  };
  const reports: Report[] = [];
  const start = performance.now();
  for (const section of sections) {
    try {
      const report = await section.run(say);
      reports.push(report);
      process.stdout.write(`${reportText(report)}\n`);
    } catch (error) {
      // The other figures are worth having all the same.
      process.stdout.write(`${section.name}: not measured, ${why(error)}\n\n`);
      process.exitCode = 1;
    }
  }
  const aims = reports.flatMap((report) => report.aims);
  const met = aims.filter((aim) => aim.met).length;
  const seconds = Math.round((performance.now() - start) / 1000);
  process.stdout.write(`${met} of ${aims.length} aims met, in ${seconds} s\n`);
  if (values.json !== undefined) {
    const document = { machine: about, seconds, sections: reports };
    writeFileSync(values.json, `${JSON.stringify(document, null, 2)}\n`);
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`bench: ${why(error)}\n`);
  process.exitCode = 1;
});
