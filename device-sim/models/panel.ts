/**
 * The e-paper and its driver: what is shown, what waits, and when the next refresh may be. Paper
 * needs time between refreshes, so a burst of cards costs one: the latest wins, and each caller
 * is told what became of its card.
 */
import { PANEL } from '../draw/chrome.js';
import { Framebuffer } from '../draw/framebuffer.js';
import type { Picture } from '../draw/render.js';
import type { BoardClock } from '../types.js';

/** Milliseconds between the starts of two refreshes. */
export const REFRESH_MS = 1_500;

/** `shown` now on the paper · `queued` for the next refresh · `superseded` by a later card. */
export type Fate = 'shown' | 'queued' | 'superseded';

export interface Shown {
  cardId: string;
  /** False for the idle picture and for error cards. */
  isCard: boolean;
  picture: Omit<Picture, 'rgba'>;
}

interface Waiting {
  cardId: string;
  draw(): Picture;
  isCard: boolean;
  settle(fate: Fate): void;
}

export class Panel {
  readonly framebuffer = new Framebuffer(PANEL.width, PANEL.height);
  readonly #clock: BoardClock;
  #shown: Shown | undefined;
  #refreshes = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #waiting: Waiting | undefined;
  #timer: { cancel(): void } | undefined;

  constructor(clock: BoardClock) {
    this.#clock = clock;
  }

  get shown(): Shown | undefined {
    return this.#shown;
  }

  get queued(): string | undefined {
    return this.#waiting?.cardId;
  }

  /** What it shows once nothing waits any more. */
  get next(): string | undefined {
    return this.#waiting?.cardId ?? this.#shown?.cardId;
  }

  get refreshes(): number {
    return this.#refreshes;
  }

  /** Milliseconds until the next refresh may begin. */
  get pause(): number {
    return Math.max(0, Math.ceil(this.#lastAt + REFRESH_MS - this.#clock.now()));
  }

  /**
   * Brings a picture to the paper, at once or after the pause. It is drawn when it is shown, so
   * that its time is right. Resolves with what became of it; a caller that waits less than
   * `patienceMs` is told `queued`. Rejects with what `draw` throws.
   */
  show(
    cardId: string,
    draw: () => Picture,
    options: { patienceMs: number; isCard?: boolean },
  ): Promise<Fate> {
    const isCard = options.isCard ?? true;
    this.#waiting?.settle('superseded');
    this.#waiting = undefined;
    this.#timer?.cancel();
    const { pause } = this;
    if (pause === 0) {
      try {
        this.#refresh(cardId, draw(), isCard);
        return Promise.resolve('shown');
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return new Promise((resolve, reject) => {
      const waiting = { cardId, draw, isCard, settle: resolve };
      this.#waiting = waiting;
      if (options.patienceMs < pause) resolve('queued');
      this.#timer = this.#clock.after(pause, () => {
        this.#waiting = undefined;
        try {
          this.#refresh(cardId, draw(), isCard);
          resolve('shown');
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** The driver loses power; the paper keeps its picture. */
  powerOff(): void {
    this.#timer?.cancel();
    this.#waiting?.settle('superseded');
    this.#waiting = undefined;
  }

  /** What a finger touches at a point, if the card has something there. */
  at(x: number, y: number): string | undefined {
    const hit = this.#shown?.picture.targets.find(
      (t) => x >= t.x && x < t.x + t.w && y >= t.y && y < t.y + t.h,
    );
    return hit?.id;
  }

  #refresh(cardId: string, picture: Picture, isCard: boolean): void {
    this.framebuffer.setRgba(picture.rgba);
    this.#lastAt = this.#clock.now();
    this.#refreshes++;
    const { texts, targets, cut } = picture;
    this.#shown = { cardId, isCard, picture: { cardId, texts, targets, cut } };
  }
}
