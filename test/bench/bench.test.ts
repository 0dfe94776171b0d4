import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../protocol/codec.js';
import { type Report, reportText, table } from './report.js';
import { seeds } from './rig/seeds.js';
import { jsonOf, SAMPLES } from './samples.js';
import { median, percentile } from './stats.js';

describe('the statistics of the bench', () => {
  it('takes a percentile as a sample that was measured, whatever the order', () => {
    const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(percentile(samples, 50)).toBe(50);
    expect(percentile(samples, 99)).toBe(99);
    expect(percentile(samples, 100)).toBe(100);
    expect(percentile(samples, 0)).toBe(1);
    expect(percentile([7], 99)).toBe(7);
    expect(samples[0]).toBe(100);
  });

  it('takes the median between the two in the middle', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('refuses what can’t be answered', () => {
    expect(() => percentile([], 50)).toThrow(RangeError);
    expect(() => percentile([1], 101)).toThrow(RangeError);
    expect(() => median([])).toThrow(RangeError);
  });
});

describe('the tables of the bench', () => {
  const columns = [
    { key: 'what', title: 'what' },
    { key: 'ms', title: 'ms', digits: 2 },
  ];

  it('puts names to the left and numbers to the right, and leaves out what is not known', () => {
    const text = table(columns, [
      { what: 'short', ms: 1234.5 },
      { what: 'à long name', ms: null },
    ]);
    expect(text.split('\n')).toEqual([
      'what               ms',
      '-----------  --------',
      'short        1,234.50',
      'à long name',
    ]);
  });

  it('names the baseline and each missed aim', () => {
    const report: Report = {
      section: 'x',
      title: 'y',
      baseline: 'the same by hand',
      columns,
      rows: [{ what: 'a', ms: 1 }],
      aims: [
        { name: 'a', says: '1 ms, aim < 2', figure: 1, met: true },
        { name: 'b', says: '3 ms, aim < 2', figure: 3, met: false },
      ],
      notes: [],
    };
    const text = reportText(report);
    expect(text).toContain('ratios against the same by hand');
    expect(text).toContain('aims met: 1 of 2');
    expect(text).toContain('missed  b: 3 ms, aim < 2');
    expect(text).not.toContain('1 ms, aim');
  });
});

describe('the samples of the bench', () => {
  it.each(SAMPLES.map((sample) => [sample.name, sample] as const))(
    '%s is a message, and its JSON passes the schema it is measured with',
    (_name, sample) => {
      expect(encodeMessage(sample.message).length).toBeGreaterThan(0);
      expect(sample.schema.safeParse(JSON.parse(JSON.stringify(jsonOf(sample)))).success).toBe(
        true,
      );
    },
  );

  it('gives each board an identity of its own', () => {
    const ids = [...seeds(300), ...seeds(20, 300)].map(({ boardId }) => boardId);
    expect(new Set(ids).size).toBe(320);
    expect(ids.every((id) => /^[0-9a-f]{16}$/.test(id))).toBe(true);
  });
});
