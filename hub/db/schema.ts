/** The tables as the query builder knows them; `migrations.ts` makes them. */
import type { Generated } from 'kysely';

export interface Schema {
  owners: { id: string; name: string; created_at: number };
  tokens: {
    hash: string;
    /** What it is called where its secret must not be said. */
    id: string;
    owner_id: string;
    label: string;
    /** `owner`, or `cli` where it came of a command-line login. */
    kind: string;
    created_at: number;
    last_used_at: number | null;
    expires_at: number | null;
    revoked_at: number | null;
  };
  sessions: {
    hash: string;
    owner_id: string;
    created_at: number;
    expires_at: number;
    /** The token that opened it. */
    token_id: string | null;
  };
  login_codes: {
    hash: string;
    state_hash: string;
    owner_id: string;
    label: string;
    expires_at: number;
  };
  push_subscriptions: {
    endpoint: string;
    owner_id: string;
    p256dh: string;
    auth: string;
    created_at: number;
  };
  gateways: {
    id: string;
    owner_id: string;
    name: string;
    token_hash: string;
    created_at: number;
    revoked_at: number | null;
    /** Its links, as it told them last (JSON). */
    health: string | null;
  };
  devices: DeviceTable;
  handovers: {
    id: string;
    device_id: string;
    board_id: string;
    from_gateway: string;
    to_gateway: string;
    /** Unix seconds; null while the key is on its way. */
    done_at: number | null;
    /** Unix seconds; null until the gateway that had the board has forgotten it. */
    gone_at: number | null;
  };
  envelopes: {
    /** Grows with every envelope; the id of its offer in the push stream. */
    seq: Generated<number>;
    id: string;
    owner_id: string;
    device_id: string;
    /** `invoke`, `notify`, `other` or `unreadable`. */
    kind: string;
    payload: string;
    created_ms: number;
    delivered_ms: number | null;
    /** The gateway that claimed it; null where the device polled it itself. */
    claimed_by: string | null;
    answered_ms: number | null;
  };
  replies: {
    seq: Generated<number>;
    id: string;
    owner_id: string;
    device_id: string | null;
    gateway_id: string | null;
    /** An envelope's id or a ticket. */
    ref: string;
    payload: string;
    created_ms: number;
  };
  late_replies: {
    seq: Generated<number>;
    envelope_id: string;
    device_id: string;
    payload: string;
    created_ms: number;
  };
  events: {
    id: Generated<number>;
    owner_id: string;
    device_id: string | null;
    kind: string;
    detail: string;
    /** What the board said, as JSON, where it said more than a sentence. */
    data: string | null;
    created_ms: number;
  };
  transcripts: {
    seq: Generated<number>;
    id: string;
    owner_id: string;
    device_id: string;
    label: string | null;
    text: string;
    audio_url: string | null;
    duration_s: number | null;
    created_ms: number;
  };
  media: {
    key: string;
    owner_id: string;
    content_type: string;
    bytes: number;
    created_ms: number;
  };
  messages: {
    id: Generated<number>;
    sender_id: string;
    recipient_id: string;
    body: string;
    /** Addresses of media of this hub, as a JSON list. */
    attachments: string;
    /** The device it was sent by; null where a person wrote it. */
    via: string | null;
    created_ms: number;
    read_ms: number | null;
  };
  firmware: {
    owner_id: string;
    channel: string;
    version: string;
    url: string;
    sha256: string;
    /** 1 where boards are to install it also if it is older. */
    force: number;
    updated_at: number;
  };
  readings: { device_id: string; name: string; value: string; at: number };
  reading_history: { seq: Generated<number>; device_id: string; at: number; sample: string };
  /** Board items that were stored, so that a repeated one is dropped. */
  stored_items: { seq: Generated<number>; device_id: string; boot: number; board_seq: number };
  audit: {
    seq: Generated<number>;
    owner_id: string | null;
    action: string;
    target: string;
    created_ms: number;
  };
  migrations: { id: number; name: string; applied_ms: number };
}

/** Times are unix seconds, as the tiny API tells them. */
export interface DeviceTable {
  id: string;
  owner_id: string;
  name: string;
  platform: string;
  kind: string;
  /** A JSON list as text. */
  capabilities: string;
  /** Null for boards behind a gateway and for endpoints: they have no token to give. */
  token_hash: string | null;
  last_seen: number | null;
  created_at: number;
  lan_url: string | null;
  revoked_at: number | null;
  gateway_id: string | null;
  board_id: string | null;
  catalog: string | null;
  /** The presence its gateway told last (JSON, unix milliseconds). */
  presence: string | null;
  /** Endpoints only: the origin at which they are called. */
  url: string | null;
  /** Endpoints only: their credential, sealed for this id; gone once revoked. */
  secret: string | null;
}
