/** The push streams of gateways: which are attached, and since when one is gone. */
import type { HubClock, HubTime } from './clock.js';

/** What a stream is to the rest of the hub. */
export interface GatewayStream {
  send(event: string, data: unknown, id?: number): void;
  end(): void;
}

/** How long a gateway may be away before its boards count as unreachable. */
export const GRACE_MS = 5_000;

export class GatewayStreams {
  private readonly attached = new Map<string, GatewayStream>();
  private readonly left = new Map<string, number>();
  private readonly timers = new Map<string, { cancel(): void }>();
  private readonly startedAt: number;
  /** Called when a gateway came back after more than the grace, or has been away that long. */
  onChange: (gatewayId: string) => void = () => {};

  constructor(
    private readonly clock: HubClock,
    private readonly time: HubTime,
  ) {
    this.startedAt = time.ms();
  }

  /** A newer stream of the same gateway takes the older one's place. */
  attach(gatewayId: string, stream: GatewayStream): void {
    const before = this.attached.get(gatewayId);
    const wasGone = this.goneSince(gatewayId) !== undefined;
    this.timers.get(gatewayId)?.cancel();
    this.timers.delete(gatewayId);
    this.attached.set(gatewayId, stream);
    this.left.delete(gatewayId);
    before?.end();
    if (wasGone) this.onChange(gatewayId);
  }

  detach(gatewayId: string, stream: GatewayStream): void {
    if (this.attached.get(gatewayId) !== stream) return;
    this.attached.delete(gatewayId);
    this.left.set(gatewayId, this.time.ms());
    const timer = this.clock.after(GRACE_MS, () => {
      this.timers.delete(gatewayId);
      this.onChange(gatewayId);
    });
    this.timers.set(gatewayId, timer);
  }

  of(gatewayId: string | null): GatewayStream | undefined {
    return gatewayId === null ? undefined : this.attached.get(gatewayId);
  }

  /** Unix milliseconds since when it has been away, beyond the grace; undefined if it hasn't. */
  goneSince(gatewayId: string): number | undefined {
    if (this.attached.has(gatewayId)) return undefined;
    // After a start of the hub its gateways have the grace to come back, too.
    const since = this.left.get(gatewayId) ?? this.startedAt;
    return this.time.ms() - since >= GRACE_MS ? since : undefined;
  }

  close(): void {
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
    this.onChange = () => {};
    for (const stream of [...this.attached.values()]) stream.end();
  }
}
