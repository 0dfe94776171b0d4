/** A typed list of listeners. One that throws harms neither the others nor the caller. */
type Listener<A extends unknown[]> = (...args: A) => void;

export class Emitter<E extends { [K in keyof E]: (...args: never[]) => void }> {
  readonly #listeners = new Map<keyof E, Set<Listener<never[]>>>();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  on<K extends keyof E>(event: K, run: E[K]): () => void {
    const set = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, set);
    set.add(run);
    return () => set.delete(run);
  }

  emit<K extends keyof E>(event: K, ...args: Parameters<E[K]>): void {
    for (const run of this.#listeners.get(event) ?? []) {
      try {
        run(...(args as never[]));
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}
