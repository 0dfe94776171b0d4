import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { testIo } from './hub.fixture.js';
import type { Io } from './io.js';
import { runStart } from './start.js';
import type { StartFlags } from './start-flags.js';

const never = vi.hoisted(() => ({ begun: (): void => {} }));
vi.mock('./stack.js', () => ({
  startStack: () => {
    never.begun();
    return new Promise(() => {});
  },
}));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a stop while it still starts is waited for no longer than any other', async () => {
  const codes: number[] = [];
  let said = '';
  let stop = (): void => {};
  const stream = {
    isTTY: false,
    write: (text: string | Uint8Array) => {
      said += String(text);
    },
  };
  const io: Io = {
    ...testIo({ MOTEBRIDGE_HOME: '/nowhere' }),
    stdout: stream,
    stderr: stream,
    exitNow: (code) => codes.push(code),
    onStop: (run) => {
      stop = run;
      return () => {};
    },
  };
  const begun = new Promise<void>((done) => {
    never.begun = done;
  });
  const flags: StartFlags = {
    host: '127.0.0.1',
    port: 0,
    brokerHost: '127.0.0.1',
    brokerPort: 0,
    endpointHost: '127.0.0.1',
    broker: true,
  };
  void runStart(io, flags);
  await begun;
  stop();
  vi.advanceTimersByTime(2_500);
  expect(codes).toEqual([]);
  vi.advanceTimersByTime(500);
  expect(codes).toEqual([1]);
  expect(said).toMatch(/did not end in time/);
});
