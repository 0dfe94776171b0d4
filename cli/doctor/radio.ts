/** Whether BLE hears anything: what the running gateway says of it, else a scan of our own. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Clock } from '../../gateway/core/types.js';
import type { AdapterState, BlePort } from '../../gateway/links/ble/port.js';
import { CliError } from '../fault.js';
import { type BleHealthShown, bleHealthShape } from '../pair-admin.js';
import { oneLine } from '../text.js';
import { type Check, ok, warn } from './check.js';

export const hearingShape = z.object({
  state: z.enum(['unknown', 'absent', 'unauthorized', 'off', 'on']),
  /** Different addresses; advertisers may change theirs. */
  heard: z.number(),
  /** dBm. */
  loudest: z.number().optional(),
  /** Why it could not listen. */
  trouble: z.string().optional(),
});
export type Hearing = z.infer<typeof hearingShape>;

/** How long a machine in use must be silent for it to be odd. */
export const LISTEN_MS = 5_000;
const ADAPTER_MS = 2_000;

/** Scans for `LISTEN_MS`. Does not reject. */
export async function hearing(port: BlePort, clock: Clock): Promise<Hearing> {
  const wait = (ms: number): Promise<void> => new Promise((done) => clock.after(ms, done));
  const loud = new Map<string, number>();
  port.onAdvertisement(({ address, rssi }) => {
    loud.set(address, Math.max(loud.get(address) ?? Number.NEGATIVE_INFINITY, rssi));
  });
  const until = clock.now() + ADAPTER_MS;
  while (port.state === 'unknown' && clock.now() < until) await wait(50);
  let trouble: string | undefined;
  if (port.state === 'on') {
    try {
      await Promise.race([port.startScan(), wait(ADAPTER_MS)]);
      await wait(LISTEN_MS);
      await Promise.race([port.stopScan(), wait(ADAPTER_MS)]);
    } catch (error) {
      trouble = error instanceof Error ? error.message : 'it failed';
    }
  }
  const levels = [...loud.values()].filter((rssi) => rssi < 20);
  return {
    state: port.state,
    heard: loud.size,
    ...(levels.length === 0 ? {} : { loudest: Math.max(...levels) }),
    ...(trouble === undefined ? {} : { trouble }),
  };
}

const SCAN = 'bluetooth scan';
const SLOTS = 'bluetooth slots';
const DEAF =
  'switch something on that advertises (a phone’s Bluetooth settings do); if it stays silent, take the adapter out and put it back, or stop what else uses it';

export function hearingCheck({ state, heard, loudest, trouble }: Hearing): Check {
  const seconds = LISTEN_MS / 1000;
  if (trouble !== undefined) {
    return warn(SCAN, `it could not listen: ${oneLine(trouble, 200)}`, DEAF);
  }
  if (state !== 'on') return warn(SCAN, WORDS[state], `see the lines above; ${AFTER}`);
  if (heard === 0) return warn(SCAN, `nothing was heard in ${seconds} s`, DEAF);
  const best = loudest === undefined ? '' : `, the nearest at ${loudest} dBm`;
  return ok(SCAN, `${heard} devices heard in ${seconds} s${best}`);
}

const AFTER = 'then run doctor again';
const WORDS: Readonly<Record<Exclude<AdapterState, 'on'>, string>> = {
  unknown: 'the adapter says nothing',
  absent: 'the library finds no adapter',
  unauthorized: 'this process may not use the adapter',
  off: 'the adapter is off',
};

/** Of a gateway that runs, which has the adapter to itself. */
export function linkChecks({ adapter, scan, slots, detail, degraded }: BleHealthShown): Check[] {
  return [scanCheck(), slotsCheck()];

  function scanCheck(): Check {
    if (adapter.state !== 'on') return warn(SCAN, WORDS[adapter.state], `mend that, ${AFTER}`);
    const ago = scan.heardAgoMs === undefined ? undefined : Math.round(scan.heardAgoMs / 1000);
    if (degraded) return warn(SCAN, detail ?? 'the adapter hears nothing', DEAF);
    if (ago !== undefined) return ok(SCAN, `the running gateway heard something ${ago} s ago`);
    if (!scan.wanted) return ok(SCAN, 'the running gateway looks for nothing now');
    return warn(SCAN, 'the running gateway has heard nothing yet', DEAF);
  }

  function slotsCheck(): Check {
    const { used, limit } = slots;
    const found = `${used} of ${limit} connections in use`;
    if (used < limit) return ok(SLOTS, found);
    return warn(SLOTS, found, 'boards take turns; an adapter that holds more ends that');
  }
}

/** `ask`: the running gateway's BLE health. `listen`: undefined where there is nothing to use. */
export async function radioChecks(
  ask: () => Promise<unknown>,
  listen: (() => Promise<Hearing>) | undefined,
): Promise<Check[]> {
  try {
    return linkChecks(bleHealthShape.parse(await ask()));
  } catch (error) {
    const idle = error instanceof CliError && ['no_ble', 'not_running'].includes(error.code);
    if (!idle) {
      const why = error instanceof CliError ? error.message : 'no readable answer';
      return [warn(SCAN, `the running gateway does not say: ${why}`, 'restart it')];
    }
  }
  return listen === undefined ? [] : [hearingCheck(await listen())];
}

/** In a process of its own: a library may throw, or hang on to the radio, where it likes. */
export function listenApart(): Promise<Hearing> {
  const program = fileURLToPath(new URL('./listen.js', import.meta.url));
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program], {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: LISTEN_MS + 10_000,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stdout.on('data', (part) => {
      said += String(part);
    });
    const end = (): void => {
      const line = said.trim().split('\n').at(-1) ?? '';
      resolve(heardIn(line) ?? { ...NOTHING, trouble: 'the library ended without an answer' });
    };
    child.once('error', end);
    child.once('close', end);
  });
}

const NOTHING = { state: 'unknown', heard: 0 } as const;

function heardIn(line: string): Hearing | undefined {
  try {
    return hearingShape.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
