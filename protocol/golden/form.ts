/** The form of golden vectors: bytes as hex or as runs of hex, one vector a line. */
import { FrameError } from '../frame-error.js';
import { fromHex, toHex } from '../identity.js';
import { join } from '../sealing.js';

/** Hex, or where it would be long: runs of hex, each with how often it is repeated. */
export type Hex = string | { parts: [hex: string, times: number][] };

export function bytesOfHex(hex: Hex): Uint8Array {
  if (typeof hex === 'string') return fromHex(hex);
  return join(
    ...hex.parts.map(([part, times]) => {
      const one = fromHex(part);
      const run = new Uint8Array(one.length * times);
      for (let i = 0; i < times; i++) run.set(one, i * one.length);
      return run;
    }),
  );
}

/** Long bytes as runs: everything after the first `head` bytes is one byte repeated. */
export function hexOf(bytes: Uint8Array, head = bytes.length): Hex {
  if (head >= bytes.length || bytes.length < 600) return toHex(bytes);
  return {
    parts: [
      [toHex(bytes.subarray(0, head)), 1],
      [toHex(bytes.subarray(head, head + 1)), bytes.length - head],
    ],
  };
}

/** Runs `take` and says what came of it: the error's code, or undefined if it was good. */
export function codeOf(take: () => unknown): string | undefined {
  try {
    take();
    return undefined;
  } catch (error) {
    if (error instanceof FrameError) return error.code;
    throw error;
  }
}

/**
 * What every proper prefix fails with, as runs: `[[9,"truncated"]]` says that the prefixes of
 * 0 to 8 bytes fail so.
 */
export function prefixErrors(
  bytes: Uint8Array,
  take: (prefix: Uint8Array) => unknown,
): [count: number, code: string][] {
  const runs: [number, string][] = [];
  for (let length = 0; length < bytes.length; length++) {
    const code = codeOf(() => take(bytes.slice(0, length))) ?? 'good';
    const run = runs.at(-1);
    if (run?.[1] === code) run[0]++;
    else runs.push([1, code]);
  }
  return runs;
}

/** A file of vectors, one on each line so that a change shows as one. */
export function vectorFile(about: string[], sections: Record<string, readonly unknown[]>): string {
  const lines = Object.entries(sections).map(([name, vectors]) => {
    const items = vectors.map((v) => `    ${JSON.stringify(v)}`).join(',\n');
    return `  ${JSON.stringify(name)}: [\n${items}\n  ]`;
  });
  const head = about.map((a) => `    ${JSON.stringify(a)}`).join(',\n');
  return `{\n  "about": [\n${head}\n  ],\n${lines.join(',\n')}\n}\n`;
}

/** `length` bytes that count up from `from`. */
export function count(from: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => from + i);
}
