/** An agent's answer as it comes: prose in batches of words, and the card in it (118). */
import { askCard, cutText, TINY_LIMITS } from '../protocol/tiny.js';
import { parseJson } from './http/json.js';

const OPENS = /^ {0,3}```card\s*$/;
const MAY_OPEN = /^ {0,3}(?:`{0,3}|```c(?:a(?:r(?:d[ \t\r]*)?)?)?)$/;
const CLOSES = /^ {0,3}```\s*$/;
const FOUR_WORDS = /^\s*\S+(?:\s+\S+){3}(?=\s)/;
/** UTF-16 units of an answer that are looked at; what follows is not asked for. */
const ENOUGH = 64 * 1024;

export class AnswerReader {
  /** What was handed out; at the end the whole text. */
  text = '';
  card: object | undefined;
  private fed = 0;
  /** Of a line that has not ended. */
  private held = '';
  /** The start of the present line is gone, so it is no fence. */
  private within = false;
  private block: string | undefined;
  private prose = '';
  private full = false;

  /** True once more of it would change nothing. */
  get enough(): boolean {
    return this.fed >= ENOUGH;
  }

  /** The batches of four words that are complete with this piece. */
  feed(piece: string): string[] {
    this.fed += Math.max(1, piece.length);
    this.held += piece;
    for (let end = this.held.indexOf('\n'); end >= 0; end = this.held.indexOf('\n')) {
      this.line(this.held.slice(0, end + 1));
      this.held = this.held.slice(end + 1);
    }
    const fence =
      this.block === undefined ? MAY_OPEN.test(this.held) : this.held.length <= TINY_LIMITS.askCard;
    if (this.within || !fence) this.part();
    return this.batches();
  }

  /** What is left. */
  end(): string[] {
    if (this.held !== '') this.line(this.held);
    this.held = '';
    this.block = undefined;
    const batches = this.batches();
    const rest = this.prose.trimEnd();
    this.prose = '';
    this.text += rest;
    return rest === '' ? batches : [...batches, rest];
  }

  /** Takes the start of a line that can be no fence. */
  private part(): void {
    if (this.held === '') return;
    this.say(this.held);
    this.held = '';
    this.within = true;
  }

  private line(line: string): void {
    const starts = !this.within;
    this.within = false;
    if (this.block !== undefined && starts && CLOSES.test(line)) {
      this.card ??= readCard(this.block);
      this.block = undefined;
    } else if (this.block === undefined && starts && OPENS.test(line)) {
      this.block = '';
    } else {
      this.say(line);
    }
  }

  private say(text: string): void {
    if (this.block !== undefined) {
      // One more than a card may have is enough to know that it is none.
      this.block = (this.block + text).slice(0, TINY_LIMITS.askCard * 2);
      return;
    }
    if (this.full) return;
    const all = this.text === '' ? (this.prose + text).trimStart() : this.prose + text;
    this.prose = cutText(all, TINY_LIMITS.askAnswer - this.text.length);
    this.full = this.prose.length < all.length;
  }

  private batches(): string[] {
    const found: string[] = [];
    for (;;) {
      const batch = FOUR_WORDS.exec(this.prose)?.[0];
      if (batch === undefined) return found;
      found.push(batch);
      this.text += batch;
      this.prose = this.prose.slice(batch.length);
    }
  }
}

function readCard(block: string): object | undefined {
  const text = block.trim();
  if (text.length > TINY_LIMITS.askCard) return undefined;
  return askCard.safeParse(parseJson(text)).data;
}
