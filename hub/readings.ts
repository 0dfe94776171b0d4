/** Readings: the latest value of each, and the newest samples of each device. */
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';

/** Readings of one sample, and UTF-16 units of its JSON. */
const NAMES = 256;
const UNITS = 16_384;

const setLatest = query<{ device: string; name: string; value: string; at: number }>()((p) =>
  tables
    .insertInto('readings')
    .values({ device_id: p.device, name: p.name, value: p.value, at: p.at })
    .onConflict((oc) =>
      oc
        .columns(['device_id', 'name'])
        .doUpdateSet((eb) => ({ value: eb.ref('excluded.value'), at: eb.ref('excluded.at') }))
        // What was buffered on the way does not overwrite what is newer.
        .whereRef('readings.at', '<=', 'excluded.at'),
    ),
);
const latest = query<{ device: string }>()((p) =>
  tables
    .selectFrom('readings')
    .where('device_id', '=', p.device)
    .orderBy('name')
    .select(['name', 'value', 'at']),
);
const again = query<{ device: string; at: number; sample: string }>()((p) =>
  tables
    .selectFrom('reading_history')
    .where('device_id', '=', p.device)
    .where('at', '=', p.at)
    .where('sample', '=', p.sample)
    .select('seq'),
);
const insertSample = query<{ device: string; at: number; sample: string }>()((p) =>
  tables.insertInto('reading_history').values({ device_id: p.device, at: p.at, sample: p.sample }),
);
const pruneSamples = query<{ device: string; keep: number }>()((p) =>
  tables
    .deleteFrom('reading_history')
    .where('device_id', '=', p.device)
    .where('seq', '<=', (eb) =>
      eb
        .selectFrom('reading_history as kept')
        .where('kept.device_id', '=', p.device)
        .orderBy('kept.seq', 'desc')
        .select('kept.seq')
        .limit(1)
        .offset(p.keep),
    ),
);

/** Part of a write; `at` in unix milliseconds. Undefined, or why the sample is refused. */
export function keepReadings(
  w: Sync,
  deviceId: string,
  at: number,
  values: Record<string, unknown>,
  keep: number,
): string | undefined {
  const entries = Object.entries(values);
  const sample = JSON.stringify(values);
  if (entries.length > NAMES || sample.length > UNITS) {
    return `a sample has at most ${NAMES} readings in ${UNITS} characters`;
  }
  for (const [name, value] of entries) {
    setLatest.run(w, { device: deviceId, name, value: JSON.stringify(value) ?? 'null', at });
  }
  if (again.get(w, { device: deviceId, at, sample })) return undefined;
  insertSample.run(w, { device: deviceId, at, sample });
  pruneSamples.run(w, { device: deviceId, keep });
  return undefined;
}

export function latestReadings(
  ctx: HubContext,
  deviceId: string,
): Record<string, { value: unknown; at: number }> {
  const rows = ctx.db.read((r) => latest.all(r, { device: deviceId }));
  return Object.fromEntries(
    rows.map((row) => [row.name, { value: JSON.parse(row.value), at: row.at }]),
  );
}
