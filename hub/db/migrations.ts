/** The schema's history: numbered steps, each run once, in order, in one transaction. */
import type { Database, Sync } from '../../store/index.js';

interface Migration {
  id: number;
  name: string;
  sql: readonly string[];
}

export const MIGRATIONS: readonly Migration[] = [
  {
    id: 1,
    name: 'owners, devices and the mailbox',
    sql: [
      `CREATE TABLE owners (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT`,
      `CREATE TABLE tokens (
        hash TEXT PRIMARY KEY, owner_id TEXT NOT NULL REFERENCES owners(id), label TEXT NOT NULL,
        created_at INTEGER NOT NULL, revoked_at INTEGER) STRICT`,
      `CREATE TABLE sessions (
        hash TEXT PRIMARY KEY, owner_id TEXT NOT NULL REFERENCES owners(id),
        created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) STRICT`,
      'CREATE INDEX sessions_end ON sessions (expires_at)',
      `CREATE TABLE gateways (
        id TEXT PRIMARY KEY, owner_id TEXT NOT NULL REFERENCES owners(id), name TEXT NOT NULL,
        token_hash TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, revoked_at INTEGER,
        health TEXT) STRICT`,
      `CREATE TABLE devices (
        id TEXT PRIMARY KEY, owner_id TEXT NOT NULL REFERENCES owners(id), name TEXT NOT NULL,
        platform TEXT NOT NULL, kind TEXT NOT NULL, capabilities TEXT NOT NULL, token_hash TEXT,
        last_seen INTEGER, created_at INTEGER NOT NULL, lan_url TEXT, revoked_at INTEGER,
        gateway_id TEXT REFERENCES gateways(id), board_id TEXT, catalog TEXT,
        presence TEXT) STRICT`,
      'CREATE INDEX devices_owner ON devices (owner_id) WHERE revoked_at IS NULL',
      'CREATE INDEX devices_gateway ON devices (gateway_id) WHERE revoked_at IS NULL',
      // One live row for a board, whoever's: a board speaks for one owner.
      `CREATE UNIQUE INDEX devices_board ON devices (board_id)
        WHERE revoked_at IS NULL AND board_id IS NOT NULL`,
      `CREATE TABLE envelopes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner_id TEXT NOT NULL,
        device_id TEXT NOT NULL REFERENCES devices(id), kind TEXT NOT NULL, payload TEXT NOT NULL,
        created_ms INTEGER NOT NULL, delivered_ms INTEGER, claimed_by TEXT,
        answered_ms INTEGER) STRICT`,
      'CREATE INDEX envelopes_waiting ON envelopes (device_id, seq) WHERE delivered_ms IS NULL',
      'CREATE INDEX envelopes_undelivered ON envelopes (created_ms) WHERE delivered_ms IS NULL',
      'CREATE INDEX envelopes_age ON envelopes (created_ms)',
      `CREATE TABLE replies (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner_id TEXT NOT NULL,
        device_id TEXT, gateway_id TEXT, ref TEXT NOT NULL, payload TEXT NOT NULL,
        created_ms INTEGER NOT NULL, UNIQUE (owner_id, ref)) STRICT`,
      'CREATE INDEX replies_age ON replies (created_ms)',
      `CREATE TABLE late_replies (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, envelope_id TEXT NOT NULL, device_id TEXT NOT NULL,
        payload TEXT NOT NULL, created_ms INTEGER NOT NULL) STRICT`,
      'CREATE INDEX late_replies_envelope ON late_replies (envelope_id)',
      'CREATE INDEX late_replies_age ON late_replies (created_ms)',
      `CREATE TABLE audit (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, owner_id TEXT, action TEXT NOT NULL,
        target TEXT NOT NULL, created_ms INTEGER NOT NULL) STRICT`,
    ],
  },
  {
    id: 2,
    name: 'what devices send up',
    sql: [
      `CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id TEXT NOT NULL, device_id TEXT,
        kind TEXT NOT NULL, detail TEXT NOT NULL, data TEXT, created_ms INTEGER NOT NULL) STRICT`,
      'CREATE INDEX events_owner ON events (owner_id, id)',
      `CREATE TABLE transcripts (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner_id TEXT NOT NULL,
        device_id TEXT NOT NULL, label TEXT, text TEXT NOT NULL, audio_url TEXT,
        duration_s INTEGER, created_ms INTEGER NOT NULL) STRICT`,
      'CREATE INDEX transcripts_owner ON transcripts (owner_id, seq)',
      `CREATE TABLE media (
        key TEXT PRIMARY KEY, owner_id TEXT NOT NULL, content_type TEXT NOT NULL,
        bytes INTEGER NOT NULL, created_ms INTEGER NOT NULL) STRICT`,
      'CREATE INDEX media_owner ON media (owner_id)',
      `CREATE TABLE readings (
        device_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (device_id, name)) STRICT, WITHOUT ROWID`,
      `CREATE TABLE reading_history (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, device_id TEXT NOT NULL, at INTEGER NOT NULL,
        sample TEXT NOT NULL) STRICT`,
      'CREATE INDEX reading_history_device ON reading_history (device_id, seq)',
      `CREATE TABLE stored_items (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, device_id TEXT NOT NULL, boot INTEGER NOT NULL,
        board_seq INTEGER NOT NULL, UNIQUE (device_id, boot, board_seq)) STRICT`,
      'CREATE INDEX stored_items_device ON stored_items (device_id, seq)',
    ],
  },
  {
    id: 3,
    name: 'tokens by kind and end, codes of command-line logins, subscriptions to push',
    sql: [
      "ALTER TABLE tokens ADD COLUMN id TEXT NOT NULL DEFAULT ''",
      "ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'owner'",
      'ALTER TABLE tokens ADD COLUMN last_used_at INTEGER',
      'ALTER TABLE tokens ADD COLUMN expires_at INTEGER',
      'UPDATE tokens SET id = lower(hex(randomblob(6)))',
      'CREATE UNIQUE INDEX tokens_id ON tokens (id)',
      'CREATE INDEX tokens_owner ON tokens (owner_id)',
      // The token that opened a session; the session ends with it.
      'ALTER TABLE sessions ADD COLUMN token_id TEXT',
      `CREATE TABLE login_codes (
        hash TEXT PRIMARY KEY, state_hash TEXT NOT NULL,
        owner_id TEXT NOT NULL REFERENCES owners(id), label TEXT NOT NULL,
        expires_at INTEGER NOT NULL) STRICT`,
      'CREATE INDEX login_codes_end ON login_codes (expires_at)',
      'CREATE INDEX audit_owner ON audit (owner_id, seq)',
      `CREATE TABLE push_subscriptions (
        endpoint TEXT PRIMARY KEY, owner_id TEXT NOT NULL REFERENCES owners(id),
        p256dh TEXT NOT NULL, auth TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT`,
      'CREATE INDEX push_subscriptions_owner ON push_subscriptions (owner_id)',
    ],
  },
  {
    id: 4,
    name: 'messages between owners',
    sql: [
      `CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        sender_id TEXT NOT NULL REFERENCES owners(id) ON DELETE CASCADE,
        recipient_id TEXT NOT NULL REFERENCES owners(id) ON DELETE CASCADE,
        body TEXT NOT NULL, attachments TEXT NOT NULL, via TEXT, created_ms INTEGER NOT NULL,
        read_ms INTEGER) STRICT`,
      'CREATE INDEX messages_sent ON messages (sender_id, recipient_id, id)',
      'CREATE INDEX messages_received ON messages (recipient_id, sender_id, id)',
      'CREATE INDEX messages_day ON messages (sender_id, created_ms)',
      `CREATE INDEX messages_unread ON messages (recipient_id, sender_id)
        WHERE read_ms IS NULL`,
    ],
  },
  {
    id: 5,
    name: 'firmware by channel',
    sql: [
      `CREATE TABLE firmware (
        owner_id TEXT NOT NULL REFERENCES owners(id), channel TEXT NOT NULL,
        version TEXT NOT NULL, url TEXT NOT NULL, sha256 TEXT NOT NULL, force INTEGER NOT NULL,
        updated_at INTEGER NOT NULL, PRIMARY KEY (owner_id, channel)) STRICT, WITHOUT ROWID`,
    ],
  },
  {
    id: 6,
    name: 'devices that are called by their URL',
    sql: [
      'ALTER TABLE devices ADD COLUMN url TEXT',
      // Sealed with a key that is not in this database.
      'ALTER TABLE devices ADD COLUMN secret TEXT',
    ],
  },
  {
    id: 7,
    name: 'boards that change their gateway',
    sql: [
      `CREATE TABLE handovers (
        id TEXT PRIMARY KEY, device_id TEXT NOT NULL, board_id TEXT NOT NULL,
        from_gateway TEXT NOT NULL, to_gateway TEXT NOT NULL, done_at INTEGER,
        gone_at INTEGER) STRICT`,
      'CREATE INDEX handovers_from ON handovers (from_gateway, board_id)',
    ],
  },
];

/** A database of a newer version: opening it with this one could lose what it does not know. */
export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew';
}

/** Brings a database to the newest schema. Rejects with `SchemaTooNew` or `StoreUnavailable`. */
export function migrate(db: Database, nowMs: number): Promise<void> {
  return db.write((w) => {
    w.run(`CREATE TABLE IF NOT EXISTS migrations (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT`);
    const done = latest(w);
    const newest = MIGRATIONS.at(-1)?.id ?? 0;
    if (done > newest) {
      throw new SchemaTooNew(
        `The hub's database has schema ${done} and this version knows ${newest}; nothing was ` +
          'changed. Start it with the newer version, or use another --home.',
      );
    }
    for (const step of MIGRATIONS) {
      if (step.id <= done) continue;
      for (const sql of step.sql) w.run(sql);
      w.run('INSERT INTO migrations (id, name, applied_ms) VALUES (?, ?, ?)', [
        step.id,
        step.name,
        nowMs,
      ]);
    }
  });
}

function latest(db: Sync): number {
  return db.get<{ id: number | null }>('SELECT max(id) AS id FROM migrations')?.id ?? 0;
}
