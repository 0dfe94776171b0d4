/** Callers that wait in this process for the reply to an envelope; told once it is durable. */
export class Waiters {
  private readonly waiting = new Map<string, Set<(payload: string | undefined) => void>>();
  private closed = false;

  /** `tell` hears the reply, or undefined when the hub closes. Returns how to stop waiting. */
  wait(envelopeId: string, tell: (payload: string | undefined) => void): () => void {
    if (this.closed) {
      tell(undefined);
      return () => {};
    }
    const set = this.waiting.get(envelopeId) ?? new Set();
    this.waiting.set(envelopeId, set);
    set.add(tell);
    return () => {
      set.delete(tell);
      if (set.size === 0) this.waiting.delete(envelopeId);
    };
  }

  answered(envelopeId: string, payload: string): void {
    const set = this.waiting.get(envelopeId);
    this.waiting.delete(envelopeId);
    for (const tell of set ?? []) tell(payload);
  }

  close(): void {
    this.closed = true;
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const set of all) for (const tell of set) tell(undefined);
  }
}
