import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_BAD_TAGS, SEALED_OVERHEAD, SecureChannel } from './channel.js';
import { encodeMessage } from './codec.js';
import { SEAL } from './frame.js';
import { fromHex, toHex } from './identity.js';
import { nodeCcm } from './node-ccm.js';
import {
  boardNonce,
  type CcmMaker,
  fullCounter,
  join,
  sealNonce,
  sessionKey,
  setupKey,
} from './sealing.js';
import { webCcm } from './web-ccm.js';

const count = (from: number, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => from + i);

/** NIST SP 800-38C, appendix C, examples 1 to 4: nonce, associated data, plain text, result. */
const NIST: [number, Uint8Array, Uint8Array, Uint8Array, string][] = [
  [4, count(0x10, 7), count(0, 8), count(0x20, 4), '7162015b4dac255d'],
  [
    6,
    count(0x10, 8),
    count(0, 16),
    count(0x20, 16),
    'd2a1f0e051ea5f62081a7792073d593d1fc64fbfaccd',
  ],
  [
    8,
    count(0x10, 12),
    count(0, 20),
    count(0x20, 24),
    'e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5484392fbc1b09951',
  ],
  [
    14,
    count(0x10, 13),
    count(0, 65_536),
    count(0x20, 32),
    '69915dad1e84c6376a68c2967e4dab615ae0fd1faec44cc484828529463ccf72b4ac6bec93e8598e7f0dadbcea5b',
  ],
];
const NIST_KEY = count(0x40, 16);
const MAKERS: [string, CcmMaker][] = [
  ['Web Crypto', webCcm],
  ['Node', nodeCcm],
];

describe.each(MAKERS)('AES-CCM of %s', (_, make) => {
  it.each(NIST)('gives the example of SP 800-38C with a tag of %i', async (tag, n, a, p, c) => {
    const ccm = await make(NIST_KEY, tag);
    expect(toHex(await ccm.seal(n, a, p))).toBe(c);
    expect(await ccm.open(n, a, fromHex(c))).toEqual(p);
  });

  it('opens nothing that was changed in a single bit', async () => {
    const ccm = await make(NIST_KEY);
    const nonce = sealNonce('up', 1, 1);
    const sealed = await ccm.seal(nonce, Uint8Array.of(1), count(0, 5));
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const bad = sealed.slice();
      bad[bit >> 3] = (bad[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(await ccm.open(nonce, Uint8Array.of(1), bad)).toBeUndefined();
    }
    expect(await ccm.open(nonce, Uint8Array.of(2), sealed)).toBeUndefined();
    expect(await ccm.open(sealNonce('down', 1, 1), Uint8Array.of(1), sealed)).toBeUndefined();
    expect(await ccm.open(nonce, Uint8Array.of(1), sealed.subarray(0, 7))).toBeUndefined();
  });
});

it('both implementations say the same of any input', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.uint8Array({ minLength: 13, maxLength: 13 }),
      fc.uint8Array({ maxLength: 40 }),
      fc.uint8Array({ maxLength: 300 }),
      async (key, nonce, associated, plain) => {
        const [web, node] = await Promise.all([webCcm(key), nodeCcm(key)]);
        const sealed = await web.seal(nonce, associated, plain);
        expect(sealed).toEqual(await node.seal(nonce, associated, plain));
        expect(await node.open(nonce, associated, sealed)).toEqual(plain);
        expect(await web.open(nonce, associated, sealed)).toEqual(plain);
      },
    ),
    { numRuns: 100 },
  );
});

describe('the full counter', () => {
  it('is the smallest above the last with the low bits that came', () => {
    expect(fullCounter(0, 1)).toBe(1);
    expect(fullCounter(0, 0)).toBe(0x1_0000);
    expect(fullCounter(5, 5)).toBe(0x1_0005);
    expect(fullCounter(0xffff, 0)).toBe(0x1_0000);
    expect(fullCounter(0x1_fffe, 0xffff)).toBe(0x1_ffff);
    expect(fullCounter(0x7fff_ffff, 0)).toBe(0x8000_0000);
  });
});

const KEY = count(0xa0, 16);

/** No cipher at all, but as particular about the nonce as CCM, and quick. */
const fakeCcm: CcmMaker = async () => ({
  seal: async (nonce, _, plain) => join(plain, nonce.subarray(1, 9)),
  open: async (nonce, _, sealed) =>
    toHex(sealed.slice(-8)) === toHex(nonce.subarray(1, 9)) ? sealed.slice(0, -8) : undefined,
});

async function pair(
  welcomeSession = 7,
  ccm = nodeCcm,
): Promise<{ board: SecureChannel; gateway: SecureChannel }> {
  const hello = encodeMessage({
    type: 'hello',
    version: 1,
    boardId: count(1, 8),
    bootId: 5,
    nonce: boardNonce(KEY, 5, 1, count(0, 8)),
  });
  const welcome = encodeMessage({
    type: 'welcome',
    session: welcomeSession,
    unixMs: 1_785_000_000_000,
    journalId: count(0, 4),
    nextCallId: 1,
    nonce: count(9, 8),
  });
  const common = { seal: SEAL.board, key: KEY, hello, welcome, ccm };
  const [board, gateway] = await Promise.all([
    SecureChannel.create({ ...common, role: 'board' }),
    SecureChannel.create({ ...common, role: 'gateway' }),
  ]);
  return { board, gateway };
}

describe('a sealed session', () => {
  it('carries messages both ways in order, however many are under way', async () => {
    const { board, gateway } = await pair();
    expect(gateway.established).toBe(false);
    const sent = Array.from({ length: 50 }, (_, i) => count(i, 3));
    const frames = await Promise.all(sent.map((m) => board.seal(m)));
    expect(frames[0]).toHaveLength(3 + SEALED_OVERHEAD);
    const opened = await Promise.all(frames.map((f) => gateway.open(f)));
    expect(opened).toEqual(sent.map((body) => ({ ok: true, body })));
    expect(gateway.established).toBe(true);
    expect(board.established).toBe(false);
    expect(await board.open(await gateway.seal(count(0, 1)))).toMatchObject({ ok: true });
  });

  it('goes on over lost frames and over the wrap of the low bits', async () => {
    const { board, gateway } = await pair(7, fakeCcm);
    let last: Uint8Array = new Uint8Array();
    for (let i = 0; i < 66_000; i++) {
      const frame = board.seal(Uint8Array.of(i));
      if (i % 30_000 === 0 || i > 65_990) last = await frame;
      if (i % 30_000 === 0) expect(await gateway.open(last)).toMatchObject({ ok: true });
    }
    expect(await gateway.open(last)).toEqual({ ok: true, body: Uint8Array.of(65_999 & 255) });
  });

  it('drops a repeated frame without holding it against the peer', async () => {
    const { board, gateway } = await pair();
    const frame = await board.seal(count(0, 4));
    await gateway.open(frame);
    for (let i = 0; i < 20; i++) {
      expect(await gateway.open(frame)).toEqual({ ok: false, why: 'replayed' });
    }
    expect(gateway.badTags).toBe(0);
    expect(await gateway.open(await board.seal(count(0, 4)))).toMatchObject({ ok: true });
  });

  it('drops bad tags, still opens good ones, and closes at the tenth', async () => {
    const { board, gateway } = await pair();
    const bad = await board.seal(count(0, 4));
    bad[5] = (bad[5] as number) ^ 1;
    for (let i = 1; i < MAX_BAD_TAGS; i++) {
      expect(await gateway.open(bad)).toEqual({ ok: false, why: 'bad_tag' });
    }
    const good = await board.seal(count(0, 4));
    expect(await gateway.open(good)).toMatchObject({ ok: true });
    expect(await gateway.open(bad)).toEqual({ ok: false, why: 'closed' });
    expect(await gateway.open(await board.seal(count(0, 4)))).toEqual({ ok: false, why: 'closed' });
  });

  it('does not advance its counter for a frame that does not verify', async () => {
    const { board, gateway } = await pair();
    const forged = new Uint8Array(20);
    forged.set([1, 0xff, 0xff]);
    expect(await gateway.open(forged)).toEqual({ ok: false, why: 'bad_tag' });
    expect(await gateway.open(await board.seal(count(0, 4)))).toMatchObject({ ok: true });
  });

  it('refuses its own frames, other seals, plain frames and stubs', async () => {
    const { board, gateway } = await pair();
    const frame = await board.seal(count(0, 4));
    expect(await board.open(frame)).toEqual({ ok: false, why: 'bad_tag' });
    expect(await gateway.open(Uint8Array.of(2, ...frame.subarray(1)))).toEqual({
      ok: false,
      why: 'wrong_seal',
    });
    expect(await gateway.open(new Uint8Array(0))).toEqual({ ok: false, why: 'wrong_seal' });
    expect(await gateway.open(frame.subarray(0, 11))).toEqual({ ok: false, why: 'truncated' });
  });

  it('shares nothing with a session of another WELCOME', async () => {
    const one = await pair(7);
    const two = await pair(8);
    expect(await two.gateway.open(await one.board.seal(count(0, 4)))).toMatchObject({ ok: false });
  });

  it('needs a HELLO and a WELCOME with nonces', async () => {
    const hello = encodeMessage({
      type: 'hello',
      version: 1,
      boardId: count(1, 8),
      bootId: 5,
      nonce: null,
    });
    const input = { role: 'board', seal: SEAL.board, key: KEY, ccm: nodeCcm } as const;
    await expect(SecureChannel.create({ ...input, hello, welcome: hello })).rejects.toThrow(
      /WELCOME/,
    );
    const welcome = encodeMessage({
      type: 'welcome',
      session: 1,
      unixMs: 0,
      journalId: count(0, 4),
      nextCallId: 1,
      nonce: count(9, 8),
    });
    await expect(SecureChannel.create({ ...input, hello, welcome })).rejects.toThrow(/nonce/);
  });
});

it('keys differ by direction, and a nonce by boot, connection and randomness', () => {
  const up = sessionKey(KEY, 'up', count(0, 3), count(3, 3));
  expect(up).toHaveLength(16);
  expect(up).not.toEqual(sessionKey(KEY, 'down', count(0, 3), count(3, 3)));
  expect(setupKey(KEY)).not.toEqual(KEY);
  const nonces = [
    boardNonce(KEY, 1, 1, count(0, 8)),
    boardNonce(KEY, 2, 1, count(0, 8)),
    boardNonce(KEY, 1, 2, count(0, 8)),
    boardNonce(KEY, 1, 1, count(1, 8)),
  ];
  expect(new Set(nonces.map(toHex)).size).toBe(4);
});
