/** A board written by hand, message by message, on a path into the gateway under test. */
import type { Gateway } from '../../gateway/core/gateway.js';
import type { Path } from '../../gateway/core/types.js';
import { capsHash, capsPages } from '../../protocol/catalog.js';
import { decodeMessage } from '../../protocol/codec.js';
import { plainFrame, readFrame } from '../../protocol/frame.js';
import { boardIdBytes } from '../../protocol/identity.js';
import type { Message, MessageName, MessageOf } from '../../protocol/messages.js';

export const PEER_ID = '00112233445566aa';

export const PEER_CAPS = {
  name: 'lamp',
  platform: 'test',
  firmware: '1.0',
  envelopes: true,
  verbs: [
    { name: 'say', signature: 'text:s200 size?:i1..4', description: 'Says it.' },
    { name: 'status', signature: '', description: 'How it is.', idempotent: true, readOnly: true },
    { name: 'reset', signature: '', description: 'Wipes it.', protected: true },
  ],
  readings: [
    { name: 'temperature', unit: '°C', scale: -2 },
    { name: 'door', unit: '', scale: 0 },
  ],
};

export class BoardPeer {
  readonly pages = capsPages(PEER_CAPS, 1024);
  readonly received: Message[] = [];
  closedBecause: string | undefined;
  path: Path;
  readonly #gateway: Gateway;

  constructor(
    gateway: Gateway,
    {
      id = PEER_ID,
      mustSeal = false,
      open = true,
      rxWindow,
    }: { id?: string; mustSeal?: boolean; open?: boolean; rxWindow?: number } = {},
  ) {
    this.#gateway = gateway;
    this.path = this.#path(id, mustSeal, rxWindow);
    if (open) gateway.opened(this.path);
  }

  #path(boardId: string, mustSeal: boolean, rxWindow?: number): Path {
    const path: Path = {
      boardId,
      via: 'test',
      mustSeal,
      ...(rxWindow === undefined ? {} : { rxWindow }),
      send: (frame) => {
        this.received.push(decodeMessage(readFrame(frame).body));
      },
      close: (reason) => {
        this.closedBecause = reason;
        this.#gateway.closed(path, reason);
      },
    };
    return path;
  }

  send(message: Message): void {
    this.#gateway.received(this.path, plainFrame(message));
  }

  raw(bytes: Uint8Array): void {
    this.#gateway.received(this.path, bytes);
  }

  /** The link goes and comes back: a new path of the same board. */
  reconnect(): void {
    this.#gateway.closed(this.path, 'cut');
    this.path = this.#path(this.path.boardId, this.path.mustSeal, this.path.rxWindow);
    this.#gateway.opened(this.path);
  }

  cut(): void {
    this.#gateway.closed(this.path, 'cut');
  }

  hello(bootId: number, more: Partial<MessageOf<'hello'>> = {}): void {
    this.send({
      type: 'hello',
      version: 1,
      boardId: boardIdBytes(this.path.boardId),
      bootId,
      nonce: null,
      capsHash: capsHash(this.pages),
      ...more,
    });
  }

  caps(): void {
    for (const page of this.pages) this.raw(new Uint8Array([0, ...page]));
  }

  /** Greets and tells its capabilities when asked. */
  greet(bootId: number, more: Partial<MessageOf<'hello'>> = {}): void {
    this.hello(bootId, more);
    if (this.all('welcome').at(-1)?.wantCaps) this.caps();
  }

  all<N extends MessageName>(type: N): MessageOf<N>[] {
    return this.received.filter(
      (m): m is MessageOf<N> & Message => m.type === type,
    ) as MessageOf<N>[];
  }

  last<N extends MessageName>(type: N): MessageOf<N> {
    const found = this.all(type).at(-1);
    if (!found) throw new Error(`no ${type} came; there were: ${this.received.map((m) => m.type)}`);
    return found;
  }

  answer(callId: number, value: MessageOf<'result'>['value'] = true): void {
    this.send({ type: 'result', callId, status: 0, value });
  }
}
