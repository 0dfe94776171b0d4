import type { BoardFlash, BoardStore } from './types.js';

/** Flash that lasts as long as this object: enough for boards that live in one process. */
export function memoryStore(bootId = 0): BoardStore {
  let kept: BoardFlash = { bootId };
  return {
    load: () => kept,
    save: (state) => {
      kept = { ...state };
    },
  };
}
