/** A frame in words: what stands at each byte, and where a bad one breaks. */
import { decodeMessage } from './codec.js';
import { plainFrame, SEAL } from './frame.js';
import { FrameError } from './frame-error.js';
import { toHex } from './identity.js';
import { messageFromJson } from './json-form.js';
import { MESSAGES, type MessageDef, type MessageName } from './messages.js';
import { checkProfile, floatAt } from './profile.js';
import { TAG_BYTES } from './sealing.js';

const WAYS = { board: 'board to gateway', gateway: 'gateway to board', both: 'both ways' } as const;
/** Bytes of one item that a line shows. */
const SHOWN = 12;
const MAX_LINES = 1000;

/** The plain frame of a message in its JSON form. @throws FrameError */
export function frameFromJson(json: unknown): Uint8Array {
  return plainFrame(messageFromJson(json));
}

/**
 * Explains a frame, or a bare message without its seal byte, one line for each item: offset,
 * bytes, meaning. Never throws: a bad frame's last line says where and why.
 */
export function explainFrame(bytes: Uint8Array): string[] {
  const seal = bytes[0];
  if (seal === SEAL.board || seal === SEAL.setup) return sealedLines(bytes, seal);
  if (seal !== SEAL.plain) return messageLines(bytes, 0);
  return [line(bytes, 0, 1, 'a plain frame'), ...messageLines(bytes, 1)];
}

function sealedLines(bytes: Uint8Array, seal: number): string[] {
  const key = seal === SEAL.board ? 'a session key of the board' : 'a key of the set-up secret';
  const lines = [line(bytes, 0, 1, `a frame sealed with ${key}`)];
  const end = bytes.length - TAG_BYTES;
  if (end <= 3) {
    lines.push(`bad: truncated: a sealed frame has at least ${3 + 1 + TAG_BYTES} bytes`);
    return lines;
  }
  const low = ((bytes[1] as number) << 8) | (bytes[2] as number);
  lines.push(line(bytes, 1, 3, `counter, low 16 bits: ${low}`));
  lines.push(line(bytes, 3, end, `a message of ${end - 3} bytes that only the key opens`));
  lines.push(line(bytes, end, bytes.length, 'tag'));
  return lines;
}

function messageLines(frame: Uint8Array, base: number): string[] {
  const body = frame.subarray(base);
  let fault: FrameError | undefined;
  try {
    checkProfile(body, Infinity);
    decodeMessage(body, Infinity);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    fault = error;
  }
  const walk = new Walk(
    frame,
    base,
    fault?.offset === undefined ? frame.length : base + fault.offset,
  );
  const lines = walk.lines();
  if (fault) {
    if (fault.offset !== undefined && base + fault.offset < frame.length) {
      lines.push(line(frame, base + fault.offset, frame.length, '<- here'));
    }
    lines.push(`bad: ${fault.code}: ${fault.message}`);
  } else {
    lines.push(`good: ${body.length} bytes`);
  }
  return lines;
}

function line(bytes: Uint8Array, from: number, to: number, words: string, depth = 0): string {
  const shown = toHex(bytes.subarray(from, Math.min(to, from + SHOWN))).replace(/..(?=.)/g, '$& ');
  const hex = to - from > SHOWN ? `${shown} …` : shown;
  return `${String(from).padStart(5)}  ${hex.padEnd(SHOWN * 3 + 1)}  ${'  '.repeat(depth)}${words}`;
}

type Def = MessageDef & { name: MessageName };

/** Goes over items that the profile has let through, up to the one at fault. */
class Walk {
  readonly #b: Uint8Array;
  readonly #stop: number;
  readonly #out: string[] = [];
  #at: number;
  #def: Def | undefined;

  constructor(bytes: Uint8Array, from: number, stop: number) {
    this.#b = bytes;
    this.#at = from;
    this.#stop = stop;
  }

  lines(): string[] {
    if (this.#b[this.#at] === undefined || this.#at >= this.#stop) return this.#out;
    if ((this.#b[this.#at] as number) >> 5 === 4) this.#message();
    else this.#item('', 0);
    return this.#out;
  }

  #message(): void {
    const { n, size } = this.#head();
    this.#say(size, `a message: a list of ${n}`, 0);
    const status = this.#peekStatus();
    for (let i = 0; i < n && this.#at < this.#stop; i++) {
      if (i === 0) this.#id(status);
      else this.#field(i - 1);
    }
  }

  #id(status: number | undefined): void {
    const { n, size } = this.#head();
    const found = ([name, def]: [string, MessageDef]): Def | false =>
      def.id === n && (n !== MESSAGES.failure.id || (status === 1) === (name === 'failure'))
        ? { ...def, name: name as MessageName }
        : false;
    for (const entry of Object.entries(MESSAGES)) this.#def ||= found(entry) || undefined;
    const def = this.#def;
    const words = def
      ? `${def.name} (${n}), ${WAYS[def.from]}: ${def.means}`
      : `unknown message ${n}`;
    if ((this.#b[this.#at] as number) >> 5 !== 0) this.#item('where the id should stand', 1);
    else this.#say(size, words, 1);
  }

  /** RESULT's status: the third item, where it can be seen. */
  #peekStatus(): number | undefined {
    const first = this.#b[this.#at];
    if (first !== MESSAGES.result.id || this.#at + 1 >= this.#stop) return undefined;
    const callId = this.#at + 1;
    return this.#b[callId + this.#headAt(callId).size];
  }

  #field(index: number): void {
    const def = this.#def;
    const names = Object.keys(def?.fields ?? {});
    const name = names[index];
    const isMap = (this.#b[this.#at] as number) >> 5 === 5;
    if (!def || name !== undefined || index > names.length || !isMap) {
      this.#item(name ?? (def ? '(more than this version knows)' : ''), 1);
      return;
    }
    const { n, size } = this.#head();
    this.#say(size, `optional fields: ${n}`, 1);
    for (let i = 0; i < n && this.#at < this.#stop; i++) {
      const head = this.#head();
      const extra = Object.entries(def.extras).find(([, [key]]) => key === head.n)?.[0];
      this.#say(head.size, extra ? `${extra} (${head.n}):` : `unknown field ${head.n}:`, 2);
      if (this.#at < this.#stop) this.#item(extra ?? '', 3);
    }
  }

  #item(name: string, depth: number): void {
    const label = name === '' ? '' : `${name} = `;
    const { major, n, size } = this.#head();
    if (major === 2 || major === 3) {
      const content = this.#b.subarray(this.#at + size, this.#at + size + n);
      this.#say(
        size + n,
        `${label}${major === 2 ? bytesWords(content) : textWords(content)}`,
        depth,
      );
    } else if (major === 4 || major === 5) {
      this.#say(size, `${label}${major === 4 ? 'a list' : 'a map'} of ${n}`, depth);
      for (let i = 0; i < n * (major === 5 ? 2 : 1) && this.#at < this.#stop; i++) {
        this.#item('', depth + 1 + (major === 5 ? i % 2 : 0));
      }
    } else {
      const value = major === 0 ? n : major === 1 ? -1 - n : this.#simple();
      this.#say(
        size,
        `${label}${String(value)}${typeof value === 'number' ? unit(name, value) : ''}`,
        depth,
      );
    }
  }

  #simple(): number | string {
    const byte = this.#b[this.#at] as number;
    return byte > 0xf8
      ? floatAt(this.#b, this.#at)
      : (['false', 'true', 'null'][byte - 0xf4] ?? '?');
  }

  #head(): { major: number; n: number; size: number } {
    return this.#headAt(this.#at);
  }

  #headAt(at: number): { major: number; n: number; size: number } {
    const byte = this.#b[at] ?? 0;
    const low = byte & 31;
    const more = low < 24 ? 0 : 1 << (low - 24);
    let n = low < 24 ? low : 0;
    for (let i = 1; i <= more; i++) n = n * 256 + (this.#b[at + i] ?? 0);
    return { major: byte >> 5, n, size: 1 + more };
  }

  #say(size: number, words: string, depth: number): void {
    if (this.#out.length < MAX_LINES) {
      this.#out.push(line(this.#b, this.#at, this.#at + size, words, depth));
    } else if (this.#out.length === MAX_LINES) {
      this.#out.push('       … more than is shown');
    }
    this.#at += size;
  }
}

function bytesWords(content: Uint8Array): string {
  const shown = toHex(content.subarray(0, 16));
  return `${content.length} bytes ${shown}${content.length > 16 ? '…' : ''}`;
}

function textWords(content: Uint8Array): string {
  const text = new TextDecoder().decode(content);
  // Nothing that steers a terminal or turns the direction of writing.
  const shown = JSON.stringify(text.length > 60 ? text.slice(0, 60) : text).replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return text.length > 60 ? `${shown}… (${content.length} bytes)` : shown;
}

const BYTES = new Set([
  'size',
  'offset',
  'nextOffset',
  'windowEnd',
  'maxMessage',
  'rxWindow',
  'freeHeap',
  'att',
]);

/** The unit that a field's name implies. */
function unit(name: string, value: number): string {
  if (name === 'unixMs') {
    return ` ms since 1970${value < 8.64e15 ? ` (${new Date(value).toISOString()})` : ''}`;
  }
  if (name === 'battery' || name === 'percent') return ' %';
  if (name === 'rssi') return ' dBm';
  if (name === 'utcOffsetMin') return ' min';
  if (name.endsWith('Ms')) return ' ms';
  if (name.endsWith('S') || name === 'seconds') return ' s';
  return BYTES.has(name) ? ' bytes' : '';
}
