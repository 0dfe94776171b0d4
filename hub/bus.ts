/** What an owner's open streams hear, after it is durable. */
export type OwnerEvent =
  | {
      type: 'event';
      id: number;
      data: {
        id: number;
        kind: string;
        detail: string;
        device_id?: string;
        created: number;
        data?: unknown;
      };
    }
  | { type: 'presence'; data: { device_id: string; name: string; presence: PresenceView } }
  | {
      type: 'readings';
      data: { device_id: string; name: string; at: number; values: Record<string, unknown> };
    }
  | {
      type: 'progress';
      data: { device_id: string; envelope_id: string; percent?: number; note?: string };
    };

/** Unix milliseconds. */
export interface PresenceView {
  state: 'online' | 'asleep' | 'unreachable';
  since: number;
  until?: number;
}

type Listener = (event: OwnerEvent) => void;

export class OwnerBus {
  private readonly listeners = new Map<string, Set<Listener>>();

  count(ownerId: string): number {
    return this.listeners.get(ownerId)?.size ?? 0;
  }

  on(ownerId: string, listener: Listener): () => void {
    const set = this.listeners.get(ownerId) ?? new Set();
    this.listeners.set(ownerId, set);
    set.add(listener);
    return () => {
      set.delete(listener);
      if (set.size === 0) this.listeners.delete(ownerId);
    };
  }

  tell(ownerId: string, event: OwnerEvent): void {
    for (const listener of this.listeners.get(ownerId) ?? []) listener(event);
  }
}
