/** What the section `hub` asks of a process that serves the hub, or the bare routes beside it. */
import type { Memory } from './wire.js';

export interface Dialer {
  deviceId: string;
  token: string;
}
export interface Pushed {
  deviceId: string;
  /** The gateway's. */
  token: string;
}

export type HubRequests = {
  /** `bare`: fastify with the same statements, synchronous=NORMAL, a transaction for each write. */
  start: {
    ask: { kind: 'hub' | 'bare'; home: string; devices: number };
    answer: { url: string; token: string; dialers: Dialer[] };
  };
  /** Enrols gateways with one board each; the hub only. */
  gateways: { ask: { count: number }; answer: Pushed[] };
  /** Fills the mailbox until it holds `rows` envelopes that nobody has fetched; the hub only. */
  fill: { ask: { rows: number; deviceId: string }; answer: null };
  memory: { ask: Record<string, never>; answer: Memory };
  stop: { ask: Record<string, never>; answer: null };
};
