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
      type: 'notice';
      /** `url` is a path of the hub's own page; `created` is unix seconds. */
      data: { title: string; body: string; tag: string; url: string; created: number };
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

/** One that serves many owners, and hears which of them something happened to. */
export interface Watcher {
  /** Boards came, went, got another name or can do something else now. */
  fleetChanged(ownerId: string): void;
  /** Streams are to end; who still may opens another. */
  hangUp(ownerId: string): void;
}

export class OwnerBus {
  private readonly listeners = new Map<string, Map<Listener, () => void>>();
  private readonly watchers = new Set<Watcher>();

  count(ownerId: string): number {
    return this.listeners.get(ownerId)?.size ?? 0;
  }

  /** `end` is called when the owner's listeners are sent away. */
  on(ownerId: string, listener: Listener, end: () => void): () => void {
    const set = this.listeners.get(ownerId) ?? new Map<Listener, () => void>();
    this.listeners.set(ownerId, set);
    set.set(listener, end);
    return () => {
      set.delete(listener);
      if (set.size === 0) this.listeners.delete(ownerId);
    };
  }

  tell(ownerId: string, event: OwnerEvent): void {
    for (const listener of this.listeners.get(ownerId)?.keys() ?? []) listener(event);
  }

  /** Ends every stream of an owner, when somebody's right to one of them ended. */
  hangUp(ownerId: string): void {
    for (const end of [...(this.listeners.get(ownerId)?.values() ?? [])]) end();
    for (const watcher of this.watchers) watcher.hangUp(ownerId);
  }

  watch(watcher: Watcher): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  fleetChanged(ownerId: string): void {
    for (const watcher of this.watchers) watcher.fleetChanged(ownerId);
  }
}
