import { describe, expect, it } from 'vitest';
import { plainFrame } from '../../protocol/frame.js';
import { seededRandom, VirtualClock } from '../testing/virtual-clock.js';
import { type BusEnd, memoryTransport } from './memory.js';

function bus() {
  const clock = new VirtualClock();
  const opened: number[] = [];
  const closed: string[] = [];
  const got: Uint8Array[] = [];
  const ends: { frame?: (f: Uint8Array) => void; close?: (why: string) => void; shut: boolean }[] =
    [];
  let down = false;
  const transport = memoryTransport({
    clock,
    random: seededRandom(5),
    connect: (): BusEnd => {
      if (down) throw new Error('the bus is down');
      const end: (typeof ends)[number] = { shut: false };
      ends.push(end);
      return {
        send: () => undefined,
        onFrame: (run) => {
          end.frame = run;
        },
        onClose: (run) => {
          end.close = run;
        },
        close: () => {
          end.shut = true;
        },
      };
    },
  });
  const owner = {
    boardId: '00112233445566ff',
    bootId: 1,
    maxMessage: 1_024,
    opened: (_: unknown, connection: number) => void opened.push(connection),
    received: (frame: Uint8Array) => void got.push(frame),
    closed: (why: string) => void closed.push(why),
  };
  return {
    clock,
    transport,
    owner,
    opened,
    closed,
    got,
    ends,
    setDown: (is: boolean) => {
      down = is;
    },
  };
}

describe('a board on a bus', () => {
  it('connects again with growing pauses, and counts its connections', async () => {
    const { clock, transport, owner, opened, closed, ends, setDown } = bus();
    transport.start(owner);
    ends[0]?.close?.('gone');
    expect(closed).toEqual(['gone']);
    setDown(true);
    await clock.pass(5_000);
    expect(opened).toEqual([1]);
    setDown(false);
    await clock.pass(30_000);
    expect(opened).toEqual([1, 2]);
  });

  it('hears nothing of a connection that is over', () => {
    const { transport, owner, got, ends, closed } = bus();
    transport.start(owner);
    transport.restart();
    const frame = plainFrame({ type: 'cancel', callId: 1 });
    ends[0]?.frame?.(frame);
    ends[0]?.close?.('late');
    ends[1]?.frame?.(frame);
    expect(got).toHaveLength(1);
    expect(closed).toHaveLength(1);
    expect(ends[0]?.shut).toBe(true);
  });

  it('sleeps and comes back, and stays away once stopped', async () => {
    const { clock, transport, owner, opened, ends } = bus();
    transport.start(owner);
    transport.pause(60_000);
    await clock.pass(59_000);
    expect(opened).toEqual([1]);
    await clock.pass(2_000);
    expect(opened).toEqual([1, 2]);
    await transport.stop();
    expect(ends.every((end) => end.shut)).toBe(true);
    await clock.pass(600_000);
    expect(opened).toEqual([1, 2]);
  });

  it('counts from one again in a new boot', () => {
    const { transport, owner, opened } = bus();
    transport.start(owner);
    transport.restart();
    owner.bootId = 2;
    transport.restart();
    expect(opened).toEqual([1, 2, 1]);
  });
});
