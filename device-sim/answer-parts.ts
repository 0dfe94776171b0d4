/** ANSWER messages put together: parts come in any order, twice, or not at all. */
import type { MessageOf } from '../protocol/messages.js';
import type { AgentAnswer } from './types.js';

/** The most text that a board keeps of one answer, in UTF-16 units; what is above is left out. */
const MAX_TEXT = 32_768;

export class AnswerParts {
  readonly #parts = new Map<number, MessageOf<'answer'>>();
  #askId = 0;

  /** The whole answer, once its last missing part has come. Parts of another answer are dropped. */
  add(part: MessageOf<'answer'>): AgentAnswer | undefined {
    if (part.askId !== this.#askId) this.#parts.clear();
    this.#askId = part.askId;
    this.#parts.set(part.part, part);
    const last = [...this.#parts.values()].find((each) => each.last);
    if (!last) return undefined;
    let text = '';
    for (let n = 0; n <= last.part; n++) {
      const each = this.#parts.get(n);
      if (!each) return undefined;
      if (text.length < MAX_TEXT) text += each.text;
    }
    this.#parts.clear();
    return { text, ...(last.card === undefined ? {} : { card: last.card }) };
  }
}
