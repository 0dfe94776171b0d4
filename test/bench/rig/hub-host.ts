/** The process that the section `hub` measures: the hub alone, or the bare routes beside it. */
import { join } from 'node:path';
import { createHub, type Hub } from '../../../hub/index.js';
import { type Database, openDatabase } from '../../../store/index.js';
import { startBare } from './bare-mailbox.js';
import { collected } from './collected.js';
import type { Dialer, HubRequests, Pushed } from './hub-wire.js';
import { serve } from './wire.js';

let hub: Hub | undefined;
let database: Database | undefined;
let owner = { ownerId: '', token: '' };
const stops: (() => Promise<void>)[] = [];

/** The bounds of one owner are not what is measured. */
const catalog = { firmware: '1', verbs: [], readings: [] };
const limits = { devices: 1e6, gateways: 1e6, streams: 1e6, waiting: 1e6 };

async function ask(method: 'POST', url: string, token: string, payload: object) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await hub?.app.inject({ method, url, headers, payload });
  if (response?.statusCode !== 200) throw new Error(`${url}: ${response?.body}`);
  return response.json() as { device_id: string; device_token: string };
}

async function startHub(home: string, devices: number) {
  const file = join(home, 'hub.db');
  database = await openDatabase(file);
  hub = await createHub({ database, mediaDir: join(home, 'media'), limits });
  const made = hub;
  stops.push(() => made.close());
  const first = await hub.bootstrap();
  if (!first) throw new Error('this hub has an owner already');
  owner = first;
  const dialers: Dialer[] = [];
  for (let i = 0; i < devices; i++) {
    const { device_id, device_token } = await ask('POST', '/api/devices', owner.token, {
      name: `desk ${i}`,
    });
    dialers.push({ deviceId: device_id, token: device_token });
  }
  const { url } = await hub.listen({ port: 0 });
  return { url, token: owner.token, dialers };
}

async function gateways(count: number): Promise<Pushed[]> {
  const one = async (_: unknown, i: number): Promise<Pushed> => {
    const made = await hub?.enrolGateway(owner.ownerId, `gateway ${i}`);
    const token = made?.gateway_token ?? '';
    const boardId = `beec${i.toString(16).padStart(12, '0')}`;
    const board = {
      boardId,
      name: `board ${i}`,
      platform: 'sim',
      capabilities: ['status'],
      catalog,
    };
    const { device_id } = await ask('POST', '/api/gateway/v1/boards', token, board);
    return { deviceId: device_id, token };
  };
  return Promise.all(Array.from({ length: count }, one));
}

async function fill(rows: number, deviceId: string): Promise<null> {
  const ms = Date.now();
  const insert = `INSERT INTO envelopes (id, owner_id, device_id, kind, payload, created_ms)
    VALUES (lower(hex(randomblob(16))), ?, ?, 'invoke', ?, ?)`;
  await database?.write((w) => {
    const now = w.get<{ n: number }>(
      'SELECT count(*) AS n FROM envelopes WHERE delivered_ms IS NULL',
    );
    for (let i = now?.n ?? 0; i < rows; i++) {
      w.run(insert, [owner.ownerId, deviceId, '{"type":"invoke","prompt":"status"}', ms]);
    }
  });
  return null;
}

serve<HubRequests>({
  async start({ kind, home, devices }) {
    if (kind === 'hub') return startHub(home, devices);
    const { stop, ...bare } = await startBare(join(home, 'bare.db'), devices);
    stops.push(stop);
    return bare;
  },
  gateways: ({ count }) => gateways(count),
  fill: ({ rows, deviceId }) => fill(rows, deviceId),
  memory: collected,
  async stop() {
    for (const stop of stops) await stop();
    return null;
  },
});
