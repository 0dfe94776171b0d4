import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SimsWorld, simsWorld } from './ble-sims.fixture.js';
import { startBleSims } from './ble-sims.js';

let w: SimsWorld;
beforeEach(() => {
  w = simsWorld();
});
afterEach(() => w.close());

const EINK = { kind: 'eink', name: 'eink' } as const;
const ENV = { kind: 'env', name: 'env' } as const;
const CAMERA = { kind: 'camera', name: 'camera' } as const;

const NECKLACE = { kind: 'necklace', name: 'necklace' } as const;
const BTHOME = { kind: 'bthome', name: 'bthome' } as const;

const who = ({ own }: { own: readonly { name: string; boardId: string; address: string }[] }) =>
  own.map(({ name, boardId, address }) => ({ name, boardId, address }));

describe('simulated boards on the virtual air', () => {
  it('are paired by their codes, and answer calls', async () => {
    const sims = await w.start(EINK, ENV, CAMERA);
    const gateway = w.gateway();
    for (const { name, setupCode = '' } of sims.own) await gateway.pair(setupCode, name);
    for (const { boardId } of sims.own) await gateway.online(boardId);
    expect(sims.own.map((each) => [each.kind, each.paired(), each.setupCode])).toEqual([
      ['eink', true, undefined],
      ['env', true, undefined],
      ['camera', true, undefined],
    ]);
    const [eink, env, camera] = sims.own.map(({ boardId }) => boardId);
    expect(await gateway.call(eink ?? '', 'say', { text: 'Hello' })).toMatchObject({ kind: 'ok' });
    expect(await gateway.call(env ?? '', 'status')).toMatchObject({ kind: 'ok' });
    expect(await gateway.call(camera ?? '', 'snapshot')).toMatchObject({ kind: 'ok' });
  });

  it('are who they were after a restart, and paired if they were', async () => {
    const first = await w.start(ENV, CAMERA);
    const gateway = w.gateway();
    const before = who(first);
    const [env, camera] = first.own;
    const code = camera?.setupCode;
    await gateway.pair(env?.setupCode ?? '', 'env');
    await w.until(() => env?.paired());
    await w.stop(first);
    await w.until(() => gateway.made.board(env?.boardId ?? '')?.presence.state !== 'online');

    const second = await w.start(ENV, CAMERA);
    expect(who(second)).toEqual(before);
    expect(second.own.map((each) => each.paired())).toEqual([true, false]);
    expect(second.own[1]?.setupCode).toBe(code);
    await gateway.online(env?.boardId ?? '');
    expect(await gateway.call(env?.boardId ?? '', 'status')).toMatchObject({ kind: 'ok' });
  });

  it('are heard under the addresses that they say', async () => {
    const sims = await w.start(EINK, ENV);
    const gateway = w.gateway();
    const stop = gateway.link.onSighting(() => undefined);
    const heard = () => gateway.link.sightings().map(({ address }) => address);
    await w.until(() => heard().length === 2);
    stop();
    expect(heard().sort()).toEqual(sims.own.map(({ address }) => address).sort());
    expect(new Set(heard()).size).toBe(2);
  });

  it('can be paired again by the same code after a factory reset', async () => {
    const sims = await w.start(ENV);
    const [env] = sims.own;
    const code = env?.setupCode ?? '';
    await w.gateway().pair(code, 'env');
    await w.until(() => env?.paired());
    env?.factoryReset();
    expect(env?.paired()).toBe(false);
    expect(env?.setupCode).toBe(code);
    await w.gateway().pair(code, 'env');
    await w.until(() => env?.paired());
  });

  it('leave no timer and nothing on the air when they stop', async () => {
    const sims = await w.start(EINK, ENV, CAMERA, NECKLACE, BTHOME);
    await w.clock.advance(5_000);
    expect(w.clock.waiting).toBeGreaterThan(0);
    await w.stop(sims);
    expect(w.clock.waiting).toBe(0);
    expect(w.air.controllers).toEqual([]);
  });

  it('that are removed leave nothing behind, and the others stay', async () => {
    const sims = await w.start(EINK, ENV);
    const [eink, env] = who(sims);
    await w.settled(sims.remove(eink?.boardId ?? ''));
    expect(readdirSync(w.folder)).not.toContain(`${eink?.boardId}.json`);
    expect(w.air.controllers.map(({ name }) => name)).toEqual(['env']);
    await w.stop(sims);
    const next = who(await w.start(EINK, ENV));
    expect(next[0]?.boardId).not.toBe(eink?.boardId);
    expect(next[1]).toEqual(env);
  });

  it('say nothing secret in the log, and keep what they hold to their owner', async () => {
    const sims = await w.start(ENV);
    const [env] = sims.own;
    const code = env?.setupCode ?? '';
    await w.gateway().pair(code, 'env');
    await w.until(() => env?.paired());
    expect(w.log.join()).toContain('"state":"paired"');
    expect(w.log.join()).not.toContain(code.split(':')[2]);
    for (const file of readdirSync(w.folder)) {
      expect(statSync(join(w.folder, file)).mode & 0o777).toBe(0o600);
    }
  });
});

describe('simulated boards of other makers', () => {
  const bytes = (hex = ''): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));

  it('are heard by a gateway that was told of them, and stay who they are', async () => {
    const first = await w.start(NECKLACE, BTHOME);
    const gateway = w.gateway();
    for (const { profile, boardId, address, bindKey } of first.foreign) {
      gateway.add({ boardId, profile, address, ...(bindKey ? { bindKey: bytes(bindKey) } : {}) });
    }
    const [necklace, sensor] = first.foreign.map(({ boardId }) => boardId);
    expect(first.foreign.map(({ profile }) => profile)).toEqual(['necklace', 'bthome']);
    expect(first.foreign[1]?.bindKey).toMatch(/^[0-9a-f]{32}$/);
    const value = (id: string | undefined, name: string) =>
      gateway.made.board(id ?? '')?.readings[name]?.value;
    await w.until(() => value(necklace, 'listening') === true);
    await w.until(() => typeof value(sensor, 'temperature') === 'number');
    await w.until(() => gateway.events().length > 0);
    expect(gateway.events()[0]).toMatchObject({ kind: 'nicla_wake', detail: { label: 'alexa' } });

    const identity = { device_id: 'dev_1', token: 'secret' };
    const outcome = await gateway.call(necklace ?? '', 'provision', identity);
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true } });
    await w.stop(first);
    const counter = (): number =>
      JSON.parse(readFileSync(join(w.folder, `${sensor}.json`), 'utf8')).counter;
    const counted = counter();
    const second = await w.start(NECKLACE, BTHOME);
    expect(second.foreign).toEqual(first.foreign);
    // No packet has a counter that another one had.
    expect(counter()).toBeGreaterThan(counted);
    const sighting = () => gateway.link.sightings().find(({ profile }) => profile === 'necklace');
    await w.until(() => sighting()?.paired);
    const before = value(sensor, 'temperature');
    await w.until(() => value(sensor, 'temperature') !== before);
    expect(w.log.join()).not.toContain('secret');
  });

  it('that are removed leave nothing behind', async () => {
    const sims = await w.start(NECKLACE, BTHOME);
    for (const { boardId } of sims.foreign) await w.settled(sims.remove(boardId));
    expect(readdirSync(w.folder)).toEqual(['ble.json']);
    expect(w.air.controllers).toEqual([]);
    await w.stop(sims);
    expect((await w.start(NECKLACE)).foreign[0]?.address).not.toBe(sims.foreign[0]?.address);
  });
});

describe('what they kept, broken', () => {
  const input = () => ({ ...w, choices: [EINK, ENV], log: () => undefined });

  it.each(['ble.json', 'flash'])(
    '(%s) stops all, is named, and is left as it is',
    async (which) => {
      const sims = await w.start(EINK, ENV);
      await w.stop(sims);
      const name = which === 'flash' ? `${sims.own[1]?.boardId}.json` : which;
      const file = join(w.folder, name);
      writeFileSync(file, '{"bootId":');
      await expect(startBleSims(input())).rejects.toMatchObject({
        code: 'home_unreadable',
        message: expect.stringContaining(file),
      });
      expect(readFileSync(file, 'utf8')).toBe('{"bootId":');
      expect(w.clock.waiting).toBe(0);
      expect(w.air.controllers).toEqual([]);
    },
  );
});
