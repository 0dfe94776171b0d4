/** The gateway's side of a sealed session with a board, by hand, for tests. */
import { SecureChannel } from '../../protocol/channel.js';
import { decodeMessage, encodeMessage } from '../../protocol/codec.js';
import { SEAL } from '../../protocol/frame.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import { nodeCcm } from '../../protocol/node-ccm.js';
import type { Peer } from './peer.js';

export const NONCE = Uint8Array.from({ length: 8 }, (_, i) => 200 + i);

/** Turns of the event loop: Node's crypto answers in a few of them. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Answers the last HELLO; another key than the board's makes an impostor. */
export async function sealedGateway(
  peer: Peer,
  options: {
    key: Uint8Array;
    seal?: typeof SEAL.board | typeof SEAL.setup;
    welcome?: Partial<MessageOf<'welcome'>>;
  },
) {
  const hello = peer.take('hello').at(-1);
  if (!hello) throw new Error('no HELLO came');
  peer.frames = [];
  const message: Message = {
    type: 'welcome',
    session: 5,
    unixMs: 1_700_000_000_000,
    journalId: Uint8Array.of(1, 2, 3, 4),
    nextCallId: 10,
    nonce: NONCE,
    maxMessage: 16_384,
    ...options.welcome,
  };
  const channel = await SecureChannel.create({
    role: 'gateway',
    seal: options.seal ?? SEAL.board,
    key: options.key,
    hello: encodeMessage(hello),
    welcome: encodeMessage(message),
    ccm: nodeCcm,
  });
  peer.say(message);
  await turns();
  return {
    hello,
    async say(said: Message): Promise<Uint8Array> {
      const frame = await channel.seal(encodeMessage(said));
      peer.raw(frame);
      await turns();
      return frame;
    },
    async heard(): Promise<Message[]> {
      const all: Message[] = [];
      for (const frame of peer.frames.splice(0)) {
        const opened = await channel.open(frame);
        if (opened.ok) all.push(decodeMessage(opened.body));
      }
      return all;
    },
  };
}
