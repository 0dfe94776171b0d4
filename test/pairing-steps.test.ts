import { describe, expect, it } from 'vitest';
import { LIMITS } from '../gateway/core/limits.js';
import { memoryJournal } from '../gateway/core/memory-journal.js';
import { Pairing } from '../gateway/core/pairing.js';
import type { Path, PathListener } from '../gateway/core/types.js';
import { SecureChannel } from '../protocol/channel.js';
import { decodeMessage, encodeMessage } from '../protocol/codec.js';
import { plainFrame, readFrame, SEAL } from '../protocol/frame.js';
import { boardIdBytes } from '../protocol/identity.js';
import type { Message, MessageOf } from '../protocol/messages.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { setupKey } from '../protocol/sealing.js';
import { FakeClock, settle } from './support/clock.js';

const ID = '00112233445566aa';
const SECRET = new Uint8Array(16).fill(3);
const KEY = new Uint8Array(16).fill(4);

/** A pairing, and the board's end of its connection by hand. */
function bench(boardId = ID) {
  const clock = new FakeClock();
  const down: Uint8Array[] = [];
  const closed: string[] = [];
  const next: string[] = [];
  const path: Path = {
    boardId,
    via: 'test',
    mustSeal: true,
    send: (frame) => void down.push(frame),
    close: (reason) => void closed.push(reason),
  };
  const listener: PathListener = {
    opened: () => void next.push('opened'),
    received: (_, frame) => void next.push(`frame ${frame[1]}`),
    closed: () => void next.push('closed'),
  };
  const confirming = { run: async (): Promise<void> => undefined };
  const pairing = new Pairing(
    {
      clock,
      journal: memoryJournal(),
      limits: LIMITS,
      random: (length) => crypto.getRandomValues(new Uint8Array(length)),
      ccm: nodeCcm,
      keep: async () => ({ key: KEY, name: 'Kitchen' }),
      confirm: () => confirming.run(),
      next: listener,
    },
    { boardId: ID, secret: SECRET },
  );
  pairing.opened(path);
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await settle();
  };
  return {
    clock,
    down,
    closed,
    next,
    path,
    pairing,
    confirming,
    turns,
    async say(frame: Uint8Array | Message): Promise<void> {
      pairing.received(path, frame instanceof Uint8Array ? frame : plainFrame(frame));
      await turns();
    },
    fault: () =>
      pairing.done.then(
        () => undefined,
        (error: { code: string }) => error.code,
      ),
    /** The board's session for its HELLO and the last WELCOME. */
    async channel(hello: Message) {
      const frames = down.map((frame) => readFrame(frame));
      const welcome = frames.filter(({ seal }) => seal === SEAL.plain).at(-1)?.body;
      return SecureChannel.create({
        role: 'board',
        seal: SEAL.setup,
        key: setupKey(SECRET),
        hello: encodeMessage(hello),
        welcome: welcome ?? new Uint8Array(),
        ccm: nodeCcm,
      });
    },
  };
}

const hello = (more: Partial<MessageOf<'hello'>> = {}): Message => ({
  type: 'hello',
  version: 1,
  boardId: boardIdBytes(ID),
  bootId: 1,
  nonce: new Uint8Array(8).fill(1),
  ...more,
});
const provisioned = encodeMessage({ type: 'provisioned', boardId: boardIdBytes(ID) });

describe('a pairing', () => {
  it('sends PROVISION under the set-up key, and hands the connection on when it is answered', async () => {
    const b = bench();
    await b.say(hello());
    const board = await b.channel(hello());
    const opened = await board.open(b.down[1] ?? new Uint8Array());
    expect(opened.ok && decodeMessage(opened.body)).toEqual({
      type: 'provision',
      boardId: boardIdBytes(ID),
      key: KEY,
      name: 'Kitchen',
    });
    await b.say(await board.seal(provisioned));
    await b.pairing.done;
    expect(b.next).toEqual(['opened']);
    b.pairing.received(b.path, Uint8Array.of(0, 7));
    b.pairing.closed(b.path, 'over');
    await b.turns();
    expect(b.next).toEqual(['opened', 'frame 7', 'closed']);
  });

  it('keeps what comes while the key is stored, and hands it on in its order', async () => {
    const b = bench();
    let stored = (): void => undefined;
    b.confirming.run = () =>
      new Promise((done) => {
        stored = done;
      });
    await b.say(hello());
    const board = await b.channel(hello());
    await b.say(await board.seal(provisioned));
    await b.say(Uint8Array.of(0, 1));
    await b.say(Uint8Array.of(0, 2));
    expect(b.next).toEqual([]);
    stored();
    b.pairing.received(b.path, Uint8Array.of(0, 3));
    await b.turns();
    expect(b.next).toEqual(['opened', 'frame 1', 'frame 2', 'frame 3']);
  });

  it('answers a repeated HELLO with the same WELCOME: what is on its way still opens', async () => {
    const b = bench();
    await b.say(hello());
    await b.say(hello());
    const plain = b.down.filter((frame) => frame[0] === SEAL.plain);
    expect(plain).toHaveLength(2);
    expect(plain[1]).toEqual(plain[0]);
    const board = await b.channel(hello());
    const sealed = b.down.filter((frame) => frame[0] === SEAL.setup);
    for (const frame of sealed) expect((await board.open(frame)).ok).toBe(true);
    expect(sealed).toHaveLength(2);
  });

  it('begins anew with a board that has rebooted, and says PROVISION again while no answer comes', async () => {
    const b = bench();
    await b.say(hello());
    const second = hello({ bootId: 2, nonce: new Uint8Array(8).fill(2) });
    await b.say(second);
    await b.clock.advance(3_100);
    await b.turns();
    const board = await b.channel(second);
    const sealed = b.down.filter((frame) => frame[0] === SEAL.setup);
    expect(sealed).toHaveLength(3);
    const opened = await Promise.all(sealed.map((frame) => board.open(frame)));
    expect(opened.map(({ ok }) => ok)).toEqual([false, true, true]);
    await b.say(await board.seal(provisioned));
    expect(b.next).toEqual(['opened']);
  });

  it.each([
    ['of another id', hello({ boardId: boardIdBytes('00112233445566ab') }), 'wrong_board'],
    ['of another version', hello({ version: 2 }), 'cannot_pair'],
    ['that does not seal', hello({ nonce: null }), 'cannot_pair'],
  ])('says nothing to a board %s', async (_, greeting, code) => {
    const b = bench();
    await b.say(greeting);
    expect(await b.fault()).toBe(code);
    expect(b.down).toEqual([]);
    expect(b.pairing.sent).toBe(false);
    expect(b.closed).toHaveLength(1);
  });

  it('says nothing on a connection to another board', async () => {
    const b = bench('00112233445566ab');
    expect(await b.fault()).toBe('wrong_board');
    await b.say(hello());
    expect(b.down).toEqual([]);
  });

  it.each([
    ['wrong_code', 'wrong_code'],
    ['locked_out', 'locked_out'],
    ['already_paired', 'already_paired'],
    ['something new', 'refused'],
  ])('ends at a board’s ERROR %s as %s', async (said, code) => {
    const b = bench();
    await b.say(hello());
    await b.say({ type: 'error', code: said, message: '', id: 8 });
    const error = await b.pairing.done.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code });
    if (code === 'locked_out') expect(error).toMatchObject({ seconds: 8 });
  });

  it('believes no PROVISIONED in plain, in another session, or under the board’s own seal', async () => {
    const b = bench();
    await b.say(hello());
    await b.say({ type: 'provisioned', boardId: boardIdBytes(ID) });
    const other = await b.channel(hello({ bootId: 9 }));
    await b.say(await other.seal(provisioned));
    const right = await b.channel(hello());
    const frame = await right.seal(provisioned);
    frame[0] = SEAL.board;
    await b.say(frame);
    expect(b.next).toEqual([]);
    await b.clock.advance(20_000);
    expect(await b.fault()).toBe('silent');
  });

  it('ends when a board only greets, sends rubbish, or goes; and takes one connection only', async () => {
    const greeter = bench();
    for (let i = 0; i < 9; i++) await greeter.say(hello({ bootId: i }));
    expect(await greeter.fault()).toBe('refused');
    const rubbish = bench();
    for (let i = 0; i < 21; i++) await rubbish.say(Uint8Array.of(9, 9, 9));
    expect(await rubbish.fault()).toBe('refused');
    const gone = bench();
    const second: string[] = [];
    gone.pairing.opened({ ...gone.path, close: (reason) => void second.push(reason) });
    expect(second).toHaveLength(1);
    gone.pairing.closed(gone.path, 'gone');
    expect(await gone.fault()).toBe('lost');
  });

  it('is not undone by one who gives up while the key is stored', async () => {
    const b = bench();
    let stored = (): void => undefined;
    b.confirming.run = () =>
      new Promise((done) => {
        stored = done;
      });
    await b.say(hello());
    const board = await b.channel(hello());
    await b.say(await board.seal(provisioned));
    b.pairing.cancel();
    stored();
    await b.pairing.done;
    expect(b.next).toEqual(['opened']);
  });
});
