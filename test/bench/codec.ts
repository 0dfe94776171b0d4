/** Messages encoded and decoded a second, validation included, against JSON of the same content. */
import { decodeMessage, encodeMessage } from '../../protocol/codec.js';
import { type Report, type Section, verdict } from './report.js';
import { jsonOf, SAMPLES, type Sample } from './samples.js';
import { median } from './stats.js';

const AIM = 0.5;
const ROUNDS = 15;
const SLICE_MS = 8;

type Way = 'encode' | 'stringify' | 'decode' | 'parse' | 'parseZod';
type Runs = Record<Way, () => unknown>;

/** Keeps the optimiser from leaving out what nobody reads. */
let sink: unknown;

function runsOf(sample: Sample): Runs {
  const { message, schema } = sample;
  const frame = encodeMessage(message);
  const json = jsonOf(sample);
  const text = JSON.stringify(json);
  const wire = Buffer.from(text);
  schema.parse(JSON.parse(text));
  return {
    encode: () => encodeMessage(message),
    stringify: () => JSON.stringify(json),
    decode: () => decodeMessage(frame),
    parse: () => JSON.parse(text),
    parseZod: () => schema.parse(JSON.parse(wire.toString('utf8'))),
  };
}

/** Runs a second, over about `ms` milliseconds. */
function rate(run: () => unknown, ms: number): number {
  let done = 0;
  const start = performance.now();
  let end = start;
  do {
    for (let i = 0; i < 64; i++) sink = run();
    done += 64;
    end = performance.now();
  } while (end - start < ms);
  return (done / (end - start)) * 1000;
}

async function measure(): Promise<Report> {
  const all = SAMPLES.map((sample) => ({ sample, runs: runsOf(sample) }));
  const mixed = (way: Way): (() => unknown) => {
    const runs = all.map(({ runs }) => runs[way]);
    return () => {
      for (const run of runs) sink = run();
      return sink;
    };
  };
  const kinds: { name: string; runs: Runs; times: number }[] = [
    ...all.map(({ sample, runs }) => ({ name: sample.name, runs, times: 1 })),
    {
      name: 'one of each in turn',
      runs: {
        encode: mixed('encode'),
        stringify: mixed('stringify'),
        decode: mixed('decode'),
        parse: mixed('parse'),
        parseZod: mixed('parseZod'),
      },
      times: all.length,
    },
  ];
  const ways: Way[] = ['encode', 'stringify', 'decode', 'parse', 'parseZod'];
  const rates = kinds.map(() => new Map<Way, number[]>(ways.map((way) => [way, []])));
  // Rounds outside, kinds inside: every function sees every kind, as it does in a gateway, and a
  // noisy neighbour falls on all of them alike.
  for (let round = -2; round < ROUNDS; round++) {
    for (const [k, kind] of kinds.entries()) {
      for (const way of ways) {
        const measured = rate(kind.runs[way], SLICE_MS) * kind.times;
        if (round >= 0) rates[k]?.get(way)?.push(measured);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const report: Report = {
    section: 'codec',
    title: 'thousands of messages a second, validation included',
    baseline:
      'JSON.stringify and JSON.parse of the same content, text in memory, nothing validated',
    columns: [
      { key: 'message', title: 'message' },
      { key: 'encode', title: 'encode' },
      { key: 'stringify', title: 'stringify' },
      { key: 'encodeRatio', title: '×', digits: 2 },
      { key: 'decode', title: 'decode' },
      { key: 'parse', title: 'parse' },
      { key: 'decodeRatio', title: '×', digits: 2 },
      { key: 'parseZod', title: 'parse + zod' },
      { key: 'zodRatio', title: '×', digits: 2 },
      { key: 'verdict', title: '' },
    ],
    rows: [],
    aims: [],
    notes: [
      `medians of ${ROUNDS} interleaved slices of ${SLICE_MS} ms; each ratio is the median of the ratios of its rounds`,
      'decode takes bytes and answers a checked message: profile, duplicate keys, UTF-8, every field; parse takes text',
      'parse + zod takes bytes: UTF-8 to text, JSON.parse, a zod schema of the same bounds',
    ],
  };
  for (const [k, kind] of kinds.entries()) {
    const of = (way: Way): number[] => rates[k]?.get(way) ?? [];
    const ratio = (ours: Way, theirs: Way): number =>
      median(of(ours).map((x, i) => x / (of(theirs)[i] ?? Number.NaN)));
    const decodeRatio = ratio('decode', 'parse');
    const met = decodeRatio >= AIM;
    report.rows.push({
      message: kind.name,
      encode: median(of('encode')) / 1000,
      stringify: median(of('stringify')) / 1000,
      encodeRatio: ratio('encode', 'stringify'),
      decode: median(of('decode')) / 1000,
      parse: median(of('parse')) / 1000,
      decodeRatio,
      parseZod: median(of('parseZod')) / 1000,
      zodRatio: ratio('decode', 'parseZod'),
      verdict: verdict(met),
    });
    report.aims.push({
      name: kind.name,
      says: `decode at ${decodeRatio.toFixed(2)} × JSON.parse, aim ≥ ${AIM}`,
      figure: decodeRatio,
      met,
    });
  }
  return report;
}

export const codec: Section = { name: 'codec', run: () => measure() };
