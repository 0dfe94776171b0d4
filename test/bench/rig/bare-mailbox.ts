/**
 * What the hub's mailbox is measured against: a fastify server without schemas that runs the same
 * statements, each write in a transaction of its own, at synchronous=NORMAL.
 */
import Fastify from 'fastify';
import { migrate } from '../../../hub/db/migrations.js';
import { hashOf, newId } from '../../../hub/ids.js';
import {
  deliver,
  envelopeById,
  insertEnvelope,
  insertReply,
  replyByRef,
  setAnswered,
  waiting,
  waitingCount,
} from '../../../hub/mailbox-queries.js';
import { openDatabase } from '../../../store/index.js';
import { findEngine } from '../../../store/sqlite.js';
import { Statements } from '../../../store/statements.js';
import type { Dialer } from './hub-wire.js';

interface Body {
  toDevice: string;
  payload: string;
  deviceId: string;
  token: string;
  inReplyTo: string;
}

/** Makes the tables by the hub's own migrations, then serves. */
export async function startBare(file: string, devices: number) {
  const made = await openDatabase(file);
  await migrate(made, Date.now());
  await made.close();
  const connection = (await findEngine()).open(file);
  connection.exec('PRAGMA journal_mode = WAL');
  connection.exec('PRAGMA synchronous = NORMAL');
  const db = new Statements(connection);
  const within = <T>(run: () => T): T => {
    connection.exec('BEGIN IMMEDIATE');
    const value = run();
    connection.exec('COMMIT');
    return value;
  };
  const owner = newId();
  const token = `mto_${newId()}`;
  db.run('INSERT INTO owners (id, name, created_at) VALUES (?, ?, 0)', [owner, 'bench']);
  db.run('INSERT INTO tokens (hash, owner_id, label, created_at, id) VALUES (?, ?, ?, 0, ?)', [
    hashOf(token),
    owner,
    'bench',
    newId(),
  ]);
  const dialers = Array.from({ length: devices }, (): Dialer => {
    const dialer = { deviceId: newId(), token: newId() };
    db.run(
      `INSERT INTO devices (id, owner_id, name, platform, kind, capabilities, token_hash, created_at)
        VALUES (?, ?, 'desk', '', 'cli', '[]', ?, 0)`,
      [dialer.deviceId, owner, hashOf(dialer.token)],
    );
    return dialer;
  });

  const ownerOf = (bearer = ''): string => {
    const sql = `SELECT owners.id FROM tokens JOIN owners ON owners.id = tokens.owner_id
      WHERE hash = ? AND revoked_at IS NULL`;
    const found = db.get<{ id: string }>(sql, [hashOf(bearer.slice('Bearer '.length))]);
    if (!found) throw new Error('unknown owner');
    return found.id;
  };
  const device = 'SELECT * FROM devices WHERE id = ?';
  const deviceOf = ({ deviceId, token: secret }: Body): string => {
    const row = db.get<{ id: string; token_hash: string }>(device, [deviceId]);
    if (row?.token_hash !== hashOf(secret)) throw new Error('unknown device');
    return row.id;
  };

  const app = Fastify({ logger: false, forceCloseConnections: true });
  app.post<{ Body: Body }>('/api/devices/relay', async ({ body, headers }) => {
    const from = ownerOf(headers.authorization);
    if (!db.get(device, [body.toDevice])) throw new Error('unknown device');
    const payload = JSON.stringify(body.payload);
    const id = newId();
    const row = { id, owner: from, device: body.toDevice, kind: 'invoke', payload, ms: Date.now() };
    within(() => {
      waitingCount.get(db, { device: body.toDevice });
      insertEnvelope.get(db, row);
    });
    return { ok: true, id };
  });
  app.put<{ Body: Body }>('/api/devices/relay', async ({ body }) => {
    const id = deviceOf(body);
    const ms = Date.now();
    const find = { device: id, after: ms - 3_900_000, limit: 10 };
    if (waiting.all(db, { ...find, limit: 1 }).length === 0) return { ok: true, messages: [] };
    const rows = within(() =>
      waiting.all(db, find).filter((row) => deliver.run(db, { id: row.id, ms, by: null }) === 1),
    );
    return {
      ok: true,
      messages: rows.map((r) => ({ id: r.id, payload: r.payload, created_at: r.created_ms })),
    };
  });
  app.patch<{ Body: Body }>('/api/devices/relay', async ({ body }) => {
    const by = deviceOf(body);
    const ms = Date.now();
    within(() => {
      const row = envelopeById.get(db, { id: body.inReplyTo });
      if (!row || row.answered_ms !== null) throw new Error('no such envelope');
      const { id: ref, owner_id } = row;
      const payload = JSON.stringify(body.payload);
      insertReply.run(db, {
        id: newId(),
        owner: owner_id,
        device: by,
        gateway: null,
        ref,
        payload,
        ms,
      });
      setAnswered.run(db, { id: ref, ms });
    });
    return { ok: true };
  });
  app.get<{ Querystring: { inReplyTo: string } }>(
    '/api/devices/relay',
    async ({ query, headers }) => {
      const reader = ownerOf(headers.authorization);
      const ref = query.inReplyTo;
      return { ok: true, reply: replyByRef.get(db, { owner: reader, ref, after: 0 }) ?? null };
    },
  );
  app.get('/api/gateway/v1/stream', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write(': open\n\n');
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const stop = async () => {
    await app.close();
    connection.close();
  };
  return { url, token, dialers, stop };
}
