/**
 * What is kept of a BTHome sensor across restarts of the gateway: which readings it has, so that
 * its catalog is not told anew piece by piece, and the last counter, against replays.
 */
import { isName } from '../../../../protocol/signature.js';
import type { BoardId } from '../../../core/types.js';
import { MAX_READINGS, type SpokenReading } from '../spoken-readings.js';

export interface BthomeMemory {
  load(boardId: BoardId): string | undefined;
  /** Durable soon; a failure is its own to tell. */
  save(boardId: BoardId, text: string): void;
}

export interface KeptSensor {
  readonly readings: readonly SpokenReading[];
  readonly firmware?: string;
  readonly counter?: number;
}

export function encodeMemory({ readings, firmware, counter }: KeptSensor): string {
  const pairs = readings.map(({ name, unit }) => [name, unit]);
  return JSON.stringify({ readings: pairs, firmware, counter });
}

/** Undefined where it can't be read. */
export function decodeMemory(text: string): KeptSensor | undefined {
  try {
    const { readings, firmware, counter } = JSON.parse(text) as Record<string, unknown>;
    if (!Array.isArray(readings) || readings.length > MAX_READINGS) return undefined;
    const pairs = readings as unknown[][];
    const good = pairs.every(
      ([name, unit]) =>
        typeof name === 'string' && isName(name) && typeof unit === 'string' && unit.length <= 16,
    );
    if (!good) return undefined;
    return {
      readings: pairs.map(([name, unit]) => ({ name: String(name), unit: String(unit) })),
      ...(typeof firmware === 'string' ? { firmware: firmware.slice(0, 64) } : {}),
      ...(Number.isSafeInteger(counter) ? { counter: Number(counter) } : {}),
    };
  } catch {
    return undefined;
  }
}
