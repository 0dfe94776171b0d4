/** A BLE link over a fake adapter with boards of ours around it, in time that a test moves. */
import { plainFrame } from '../../../protocol/frame.js';
import { FakeClock } from '../../../test/support/clock.js';
import type { Path, PathListener } from '../../core/types.js';
import { addressOf, type FakeDevice, FakeMote, FakePort } from './fake-port.fixture.js';
import { type BleLinkOptions, bleLink } from './link.js';
import type { KnownBoard } from './profile.js';
import { moteProfile } from './profiles/mote.js';

export const idOf = (n: number): string => `${n.toString(16).padStart(8, '0')}00000000`;

export class Listener implements PathListener {
  readonly said: string[] = [];
  readonly paths: Path[] = [];
  readonly frames: Uint8Array[] = [];
  opened(path: Path): void {
    this.paths.push(path);
    this.said.push(`opened ${path.boardId}`);
  }
  received(_path: Path, frame: Uint8Array): void {
    this.frames.push(frame);
  }
  closed(path: Path, reason: string): void {
    this.said.push(`closed ${path.boardId}: ${reason}`);
  }
}

export function rig(options: Partial<BleLinkOptions> = {}, boards = 1, port = new FakePort()) {
  const clock = new FakeClock();
  const listener = new Listener();
  const logged: string[] = [];
  const known: KnownBoard[] = Array.from({ length: boards }, (_, i) => ({
    boardId: idOf(i + 1),
    profile: 'mote',
  }));
  const motes = known.map(({ boardId }, i) => new FakeMote(clock, boardId, addressOf(i + 1)));
  const link = bleLink({
    port,
    clock,
    listener,
    profiles: [moteProfile()],
    known: () => known,
    random: (n) => new Uint8Array(n),
    log: (line) => logged.push(line),
    ...options,
  });
  const [mote] = motes as [FakeMote];
  /** Everything advertises each second for a while. */
  const live = async (seconds: number, ...devices: FakeDevice[]): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      port.advertise(...(devices.length > 0 ? devices : motes));
      await clock.advance(1_000);
    }
  };
  return { clock, port, listener, logged, known, motes, mote, link, live };
}

export const hello = plainFrame({
  type: 'hello',
  version: 1,
  boardId: new Uint8Array(8),
  bootId: 1,
  nonce: null,
  maxMessage: 1024,
  rxWindow: 2_048,
});
