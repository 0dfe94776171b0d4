/** A hub and a device that it calls over real TLS on loopback, both on one clock. */
import { expect } from 'vitest';
import {
  type EndpointDevice,
  type EndpointFault,
  type LocalCa,
  makeCa,
  startEndpoint,
} from '../../device-sim/index.js';
import { onCleanup } from '../../hub/cleanup.fixture.js';
import { TestClock } from '../../hub/clock.fixture.js';
import { type Answer, type TestHub, type TestHubOptions, testHub } from '../../hub/hub.fixture.js';

export const SECRET = 'robot-secret-0123456789';
export const NAMED = 'robot.test';

export interface Robot {
  id: string;
  device: EndpointDevice;
}

export interface World {
  t: TestHub;
  ca: LocalCa;
  robot: Robot;
  /** Every line of the hub's log. */
  log: string[];
  /** Asks the hub to ask the device. */
  telemetry(id?: string): Promise<Answer>;
  snapshot(id?: string): Promise<Picture>;
  chat(prompt: string, id?: string): Promise<Answer>;
  use(body: object): Promise<Answer>;
  /** Another device, enrolled; its certificate is of this authority unless another is given. */
  another(options?: { ca?: LocalCa; hosts?: string[]; at?: string }): Promise<Robot>;
}

export interface Picture extends Answer {
  bytes: Buffer;
}

export async function playEndpoint(
  clock: TestClock,
  ca: LocalCa,
  hosts = [NAMED],
): Promise<EndpointDevice> {
  const device = await startEndpoint({
    name: 'robot',
    secret: SECRET,
    clock,
    random: Math.random,
    tls: ca.issue(hosts),
  });
  onCleanup(() => device.close());
  return device;
}

export async function endpointWorld(options: TestHubOptions = {}): Promise<World> {
  const clock = options.clock ?? new TestClock();
  const ca = makeCa();
  const log: string[] = [];
  const write = (fields: object, message: string): void =>
    void log.push(`${message} ${JSON.stringify(fields)}`);
  const t = await testHub({
    endpointHosts: [NAMED],
    endpointResolve: async () => ['127.0.0.1'],
    endpointCa: ca.cert,
    log: { info: write, warn: write, error: write },
    ...options,
    clock,
  });
  const another: World['another'] = async ({ ca: other = ca, hosts, at = NAMED } = {}) => {
    const device = await playEndpoint(clock, other, hosts);
    return { id: await enrolAt(t, `https://${at}:${device.port}`), device };
  };
  const robot = await another();
  const get = (id: string, action: string): string =>
    `/api/devices/endpoint?deviceId=${id}&action=${action}`;
  return {
    t,
    ca,
    robot,
    log,
    another,
    telemetry: (id = robot.id) => t.own('GET', get(id, 'telemetry')),
    async snapshot(id = robot.id) {
      const response = await t.hub.app.inject({
        method: 'GET',
        url: get(id, 'snapshot'),
        headers: { authorization: `Bearer ${t.token}` },
      });
      const isJson = String(response.headers['content-type']).includes('json');
      return {
        status: response.statusCode,
        headers: { ...response.headers },
        body: isJson ? (response.json() as Record<string, unknown>) : {},
        raw: response.body,
        bytes: response.rawPayload,
      };
    },
    chat: (prompt, id = robot.id) =>
      t.own('POST', '/api/devices/endpoint/chat', { deviceId: id, prompt }),
    use: (body) => t.own('POST', '/api/use-device', body),
  };
}

export async function enrolAt(t: TestHub, url: string, extra: object = {}): Promise<string> {
  const { status, body } = await t.own('POST', '/api/devices', {
    name: 'robot',
    kind: 'endpoint',
    capabilities: ['chat', 'telemetry', 'snapshot'],
    url,
    secret: SECRET,
    ...extra,
  });
  expect([status, body.error]).toEqual([200, undefined]);
  return String(body.device_id);
}

/** All three calls while the device misbehaves: status and body of each. */
export async function allThree(
  { robot, telemetry, chat, snapshot }: World,
  fault?: EndpointFault,
  elsewhere?: string,
): Promise<Record<'telemetry' | 'snapshot' | 'chat', [number, Record<string, unknown>]>> {
  if (fault !== undefined) robot.device.misbehave(fault, elsewhere);
  const a = await telemetry();
  const b = await snapshot();
  const c = await chat('hello');
  return {
    telemetry: [a.status, a.body],
    snapshot: [b.status, b.body],
    chat: [c.status, c.body],
  };
}

/** Lets what is under way on sockets go on for a while, without moving the clock. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((done) => setImmediate(done));
}
