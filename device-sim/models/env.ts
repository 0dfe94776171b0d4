/** An air sensor on a shelf. */
import { readingsByName } from '../firmware.js';
import type { BoardHost, BoardSpec, Model } from '../types.js';
import { Room } from './room.js';

export interface EnvOptions {
  /** Seconds between live readings until `set_interval` says otherwise; default 30. */
  intervalS?: number;
  /** Also keeps readings until they are stored, each `storeS` seconds. */
  storeS?: number;
}

export function envModel(name: string, options: EnvOptions = {}): Model {
  return (host) => envSpec(host, name, options);
}

function envSpec(host: BoardHost, name: string, options: EnvOptions): BoardSpec {
  const air = new Room(host);
  let intervalS = options.intervalS ?? 30;
  let storing: { cancel(): void } | undefined;
  const store = (seconds: number): void => {
    storing = host.clock.after(seconds * 1000, () => {
      host.storeReadings();
      store(seconds);
    });
  };
  if (options.storeS !== undefined) store(options.storeS);
  const spec: BoardSpec = {
    name,
    platform: 'sim-env',
    firmware: 'mote-env 1.0.0',
    battery: () => air.battery(),
    readings: [
      { name: 'temperature', unit: '°C', scale: -2, read: () => air.temperature() },
      { name: 'humidity', unit: '%', scale: -1, read: () => air.humidity() },
      { name: 'pressure', unit: 'hPa', scale: -1, read: () => air.pressure() },
      { name: 'co2', unit: 'ppm', read: () => air.co2() },
      { name: 'light', unit: 'lx', read: () => air.light() },
      { name: 'battery', unit: '%', read: () => air.battery() },
    ],
    verbs: [
      {
        name: 'status',
        signature: '',
        description: 'the readings as they are now, by name, in their units',
        flags: { idempotent: true, readOnly: true },
        run: () => ({ ...readingsByName(spec), interval_s: intervalS }),
      },
      {
        name: 'set_interval',
        signature: 's:i1..3600',
        description: 'sends readings every s seconds from now on, until a reboot',
        flags: { idempotent: true },
        run: ({ s }) => {
          intervalS = Number(s);
          host.setReadingsInterval(intervalS);
          return { interval_s: intervalS };
        },
      },
    ],
    ended: () => storing?.cancel(),
  };
  return spec;
}
