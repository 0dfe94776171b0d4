/** Every route of the tiny Devices API by its name, for clients and documents alike. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Who may call it: an owner's session, a device's credential, either, or anybody. */
  readonly auth: 'session' | 'device' | 'either' | 'none';
  /** Part of the wire document. */
  readonly part: string;
}

export const TINY_ROUTES = {
  devices: { method: 'GET', path: '/api/devices', auth: 'session', part: 'A1' },
  enrol: { method: 'POST', path: '/api/devices', auth: 'session', part: 'A1' },
  revoke: { method: 'DELETE', path: '/api/devices', auth: 'session', part: 'A1' },
  adopt: { method: 'POST', path: '/api/devices/adopt', auth: 'session', part: 'A1' },
  heartbeat: { method: 'POST', path: '/api/devices/heartbeat', auth: 'device', part: 'A1' },
  relaySend: { method: 'POST', path: '/api/devices/relay', auth: 'session', part: 'A2' },
  relayRead: { method: 'GET', path: '/api/devices/relay', auth: 'session', part: 'A2' },
  relayPoll: { method: 'PUT', path: '/api/devices/relay', auth: 'device', part: 'A2' },
  relayReply: { method: 'PATCH', path: '/api/devices/relay', auth: 'device', part: 'A2' },
  taskResult: { method: 'POST', path: '/api/devices/task-result', auth: 'device', part: 'A3' },
  event: { method: 'POST', path: '/api/devices/event', auth: 'device', part: 'A4' },
  events: { method: 'GET', path: '/api/events', auth: 'session', part: 'A4' },
  transcript: { method: 'POST', path: '/api/devices/transcript', auth: 'device', part: 'A4' },
  transcripts: { method: 'GET', path: '/api/devices/transcript', auth: 'session', part: 'A4' },
  media: { method: 'POST', path: '/api/media', auth: 'either', part: 'A5' },
  ask: { method: 'POST', path: '/api/devices/ask', auth: 'device', part: 'A6' },
  messages: { method: 'POST', path: '/api/devices/messages', auth: 'device', part: 'A7' },
  ownMessages: { method: 'POST', path: '/api/messages', auth: 'session', part: 'A7' },
  endpoint: { method: 'GET', path: '/api/devices/endpoint', auth: 'session', part: 'A8' },
  endpointChat: { method: 'POST', path: '/api/devices/endpoint/chat', auth: 'session', part: 'A8' },
  useDevice: { method: 'POST', path: '/api/use-device', auth: 'session', part: 'A9' },
  authCli: { method: 'POST', path: '/api/auth/cli', auth: 'session', part: 'A10' },
  authToken: { method: 'POST', path: '/api/auth/cli/token', auth: 'none', part: 'A10' },
  health: { method: 'GET', path: '/api/health', auth: 'none', part: 'A11' },
  firmwarePublish: {
    method: 'POST',
    path: '/api/firmware/manifest',
    auth: 'session',
    part: 'A12',
  },
  firmware: { method: 'PUT', path: '/api/firmware/manifest', auth: 'device', part: 'A12' },
} as const satisfies Record<string, Route>;
export type TinyRoute = keyof typeof TINY_ROUTES;
