/** What the embedded broker is told, what it bounds, and what it offers. */
import type { BoardId, Clock, PathListener } from '../core/types.js';
import type { ServerLimits } from './broker-server.js';
import type { GateLimits } from './gate.js';
import type { Link, LinkLog } from './link.js';

export interface BrokerLimits extends GateLimits, ServerLimits {
  /** Bytes that wait for one board; beyond them its connection is closed. */
  maxQueued: number;
}

export const BROKER_LIMITS: BrokerLimits = {
  maxConnectPacket: 1_024,
  maxPacket: 65_536,
  messagesPerS: 200,
  messageBurst: 400,
  bytesPerS: 1_048_576,
  byteBurst: 2_097_152,
  connectsPerS: 300,
  connectBurst: 600,
  maxWaiting: 2_048,
  maxConnections: 5_000,
  maxQueued: 262_144,
};

export interface BrokerOptions {
  /** Default 127.0.0.1: boards on the network need another, and then they seal. */
  host?: string;
  /** 0 takes a free one. Default 1883, or 8883 with TLS. */
  port?: number;
  /** PEM. */
  tls?: { key: string; cert: string };
  clock: Clock;
  listener: PathListener;
  /** The board's password (`mqttPassword` of its key); undefined for a board that is not known. */
  password(boardId: BoardId): string | undefined;
  log?: LinkLog;
  limits?: Partial<BrokerLimits>;
}

export interface Broker extends Link {
  readonly port: number;
  /** For a board's configuration: `mqtt://…` or `mqtts://…`. */
  readonly url: string;
  /** Ends the board's connection and clears what is retained on its state topic. */
  forget(boardId: BoardId): Promise<void>;
}
