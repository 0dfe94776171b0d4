import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type FakeHub, fakeHub, json, TOKEN, testIo } from './hub.fixture.js';

let hub: FakeHub;
beforeAll(async () => {
  hub = await fakeHub();
});
afterAll(() => hub.close());

import { run } from './run.js';

describe('watch', () => {
  test('prints what comes, resumes after a cut by the last id, and ends on SIGINT with 0', async () => {
    let opened = 0;
    const ids: (string | undefined)[] = [];
    const io = testIo({ MOTEBRIDGE_URL: hub.url, MOTEBRIDGE_TOKEN: TOKEN });
    hub.on('GET /api/stream', ({ headers }, r) => {
      opened += 1;
      ids.push(headers['last-event-id']?.toString());
      r.writeHead(200, { 'content-type': 'text/event-stream' });
      if (opened === 1) {
        r.write(
          'event: presence\ndata: {"device_id":"d","name":"eink","presence":{"state":"online","since":1}}\n\n',
        );
        r.write(
          'id: 7\nevent: event\ndata: {"id":7,"kind":"device_note","detail":"tap","created":1}\n\n',
        );
        r.write(': comment\n\nevent: broken\ndata: {\n\n');
        setImmediate(() => r.destroy());
      } else {
        r.write(
          'event: readings\ndata: {"device_id":"d","name":"env","at":5,"values":{"t":21.5,"h":40}}\n\n',
        );
      }
    });
    const done = run(['watch', '--count', '3'], io);
    expect(await done).toBe(0);
    expect(ids).toEqual([undefined, '7']);
    const lines = io
      .out()
      .trim()
      .split('\n')
      .map((line) => line.replace(/^\S+/, 'T'));
    expect(lines).toEqual(['T  eink  online', 'T  device_note  tap', 'T  env  t 21.5, h 40']);
    expect(io.err()).toContain('trying again');
  });

  test('--json prints one object per line; SIGINT ends it with 0', async () => {
    const io = testIo({ MOTEBRIDGE_URL: hub.url, MOTEBRIDGE_TOKEN: TOKEN });
    hub.on('GET /api/stream', (_, r) => {
      r.writeHead(200, { 'content-type': 'text/event-stream' });
      r.write('event: event\ndata: {"id":1,"kind":"k","detail":"d"}\n\n');
      const look = (): void => {
        if (io.out() === '') setTimeout(look, 5);
        else io.interrupt();
      };
      look();
    });
    expect(await run(['watch', '--json'], io)).toBe(0);
    expect(JSON.parse(io.out())).toEqual({ type: 'event', id: 1, kind: 'k', detail: 'd' });
  });

  test('a hub that is not there is 3, and a refusal is 4', async () => {
    const gone = await fakeHub();
    await gone.close();
    expect((await cli(gone, 'watch')).code).toBe(3);
    hub.on('GET /api/stream', (_, r) => json(r, 401, { ok: false, error: 'login required' }));
    expect((await cli(hub, 'watch')).code).toBe(4);
  });
});
