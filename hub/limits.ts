/** What one owner and one request may take. All are options of the hub. */
export interface HubLimits {
  /** Live devices of an owner. */
  devices: number;
  /** Live gateways of an owner. */
  gateways: number;
  /** Envelopes of one device that nobody has fetched yet. */
  waiting: number;
  /** Bytes of all media of an owner. */
  mediaBytes: number;
  /** Samples kept for each device. */
  readingHistory: number;
  /** Event streams of an owner that may be open at a time. */
  streams: number;
  /** Sessions of an owner's MCP clients at a time. */
  mcpSessions: number;
  /** Calls to an owner's endpoint devices that may be open at a time. */
  endpointCalls: number;
  /** Bytes of a JSON body. */
  body: number;
  /** Requests in a minute, on the routes of sessions. */
  ownerPerMinute: number;
  addressPerMinute: number;
  /** Logins and exchanges of codes in a minute from one address. */
  loginsPerMinute: number;
  /** Connections that may be open at a time; more are closed at once. */
  connections: number;
  /** How long a request's headers, and all of it, may take to arrive. */
  headersMs: number;
  requestMs: number;
}

export const LIMITS: HubLimits = {
  devices: 1_000,
  gateways: 64,
  waiting: 1_000,
  mediaBytes: 4 * 1024 ** 3,
  readingHistory: 500,
  streams: 64,
  mcpSessions: 32,
  endpointCalls: 32,
  body: 256 * 1024,
  ownerPerMinute: 12_000,
  addressPerMinute: 24_000,
  loginsPerMinute: 30,
  connections: 10_000,
  headersMs: 20_000,
  requestMs: 300_000,
};
