/** The gateway's side of a sealed session, as boards use it (frame.md "Sealing"). */
import { type NotOpened, SecureChannel } from '../../protocol/channel.js';
import { SEAL } from '../../protocol/frame.js';
import { FrameError } from '../../protocol/frame-error.js';
import type { CcmMaker } from '../../protocol/sealing.js';

/** A sealed session after HELLO and WELCOME, as `protocol/channel.ts` makes it. */
export interface Seal {
  /** A whole frame, seal byte included. */
  seal(message: Uint8Array): Promise<Uint8Array>;
  /** The message inside; rejects when the tag is bad or the counter was used. */
  open(frame: Uint8Array): Promise<Uint8Array>;
}

/** The session under a board's own key; `ccm` is Node's or Web Crypto's. */
export async function secureSession(
  ccm: CcmMaker,
  key: Uint8Array,
  hello: Uint8Array,
  welcome: Uint8Array,
): Promise<Seal> {
  const input = { role: 'gateway', seal: SEAL.board, key, hello, welcome, ccm } as const;
  const channel = await SecureChannel.create(input);
  return {
    seal: (message) => channel.seal(message),
    async open(frame) {
      const opened = await channel.open(frame);
      if (opened.ok) return opened.body;
      throw new SealRefused(opened.why);
    },
  };
}

const WHY: Partial<Record<NotOpened, string>> = {
  bad_tag:
    'this sealed frame does not verify: it was sealed with a key that is not the key this ' +
    'gateway has for the board, or in another session; it was dropped',
  closed: 'ten sealed frames did not verify: the connection ends',
};

/** A sealed frame that was dropped; `final` when the connection must end (amendment 10). */
export class SealRefused extends FrameError {
  readonly final: boolean;

  constructor(readonly why: NotOpened) {
    super('bad_seal', WHY[why] ?? `this sealed frame was dropped: ${why}`);
    this.final = why === 'closed' || why === 'exhausted';
  }
}
