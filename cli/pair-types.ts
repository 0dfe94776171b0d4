/** What `motebridge pair` is told, and how it speaks with a person. */
import type { SightingShown } from './pair-admin.js';

export interface PairFlags {
  home?: string;
  json?: boolean;
  name?: string;
  list?: boolean;
  address?: string;
  bindKey?: string;
}

/** The questions to a person; undefined where they stopped. */
export interface Talk {
  looking<T>(work: Promise<T>): Promise<T>;
  choose(heard: readonly SightingShown[]): Promise<SightingShown | 'again' | undefined>;
  text(question: string, wrong: (text: string) => string | undefined): Promise<string | undefined>;
  step(words: string): void;
  end(words: string): void;
}
