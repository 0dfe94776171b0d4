import type { BoardStore } from './types.js';

/** Flash that lasts as long as this object: enough for boards that live in one process. */
export function memoryStore(bootId = 0): BoardStore {
  let kept = { bootId };
  return {
    load: () => kept,
    save: (state) => {
      kept = { bootId: state.bootId };
    },
  };
}
