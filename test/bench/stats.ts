/** Order statistics of measured samples. */

function sorted(samples: readonly number[]): number[] {
  if (samples.length === 0) throw new RangeError('nothing was measured');
  return [...samples].sort((a, b) => a - b);
}

/** The smallest sample that at least `percent` (0 to 100) of all samples don't exceed. */
export function percentile(samples: readonly number[], percent: number): number {
  if (!(percent >= 0 && percent <= 100)) throw new RangeError('a percentile is from 0 to 100');
  const all = sorted(samples);
  const rank = Math.ceil((percent / 100) * all.length);
  return all[Math.max(0, rank - 1)] as number;
}

/** The middle sample, or the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  const all = sorted(samples);
  const half = all.length >> 1;
  const upper = all[half] as number;
  return all.length % 2 === 1 ? upper : ((all[half - 1] as number) + upper) / 2;
}
