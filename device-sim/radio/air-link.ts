/** One connection over the virtual air, with a lane for each direction. */
import type { Air } from './air.js';
import type { VirtualController } from './controller.js';
import { type Acl, packetsCompleted, STATUS, writeAcl } from './hci.js';

interface Waiting {
  readonly at: number;
  readonly run: () => void;
}

/** Things that happen at their time and never before the ones ahead of them. */
class Lane {
  readonly #air: Air;
  readonly #queue: Waiting[] = [];
  #armed = false;

  constructor(air: Air) {
    this.#air = air;
  }

  push(delayMs: number, run: () => void): void {
    this.#queue.push({ at: this.#air.clock.now() + delayMs, run });
    this.#arm();
  }

  #arm(): void {
    const head = this.#queue[0];
    if (!head || this.#armed) return;
    this.#armed = true;
    const left = head.at - this.#air.clock.now();
    if (left > 0) this.#air.clock.after(left, () => this.#run());
    else this.#air.soon(() => this.#run());
  }

  #run(): void {
    this.#armed = false;
    const now = this.#air.clock.now();
    for (let head = this.#queue[0]; head && head.at <= now; head = this.#queue[0]) {
      this.#queue.shift();
      head.run();
    }
    this.#arm();
  }
}

export class AirLink {
  readonly central: VirtualController;
  readonly peripheral: VirtualController;
  /** Hundredths of a second, as the central's host asked for. */
  readonly supervision: number;
  readonly #air: Air;
  readonly #handles: Map<VirtualController, number>;
  readonly #lanes: Map<VirtualController, Lane>;
  #open = true;

  constructor(
    air: Air,
    central: VirtualController,
    peripheral: VirtualController,
    supervision: number,
  ) {
    this.#air = air;
    this.central = central;
    this.peripheral = peripheral;
    this.supervision = supervision;
    this.#handles = new Map([
      [central, central.linked(this, 0)],
      [peripheral, peripheral.linked(this, 1)],
    ]);
    this.#lanes = new Map([
      [central, new Lane(air)],
      [peripheral, new Lane(air)],
    ]);
  }

  get open(): boolean {
    return this.#open;
  }

  peerOf(end: VirtualController): VirtualController {
    return end === this.central ? this.peripheral : this.central;
  }

  handleOf(end: VirtualController): number {
    return this.#handles.get(end) as number;
  }

  /** Data of one end's host. The buffers of its controller are free again once it is through. */
  send(from: VirtualController, acl: Acl): void {
    const to = this.peerOf(from);
    const fate = this.#air.carry(this, from, acl);
    const delay = this.#air.latencyMs + (typeof fate === 'object' ? fate.delayMs : 0);
    this.#lanes.get(from)?.push(delay, () => {
      if (!this.#open) return;
      from.say(packetsCompleted(this.handleOf(from), 1));
      if (fate === 'drop') {
        this.#air.counters.dropped++;
        return;
      }
      this.#air.counters.delivered++;
      // "Start, not flushable" is for hosts to say; a controller says "start" (Vol 4 Part E 5.4.2).
      const boundary = acl.boundary === 0 ? 2 : acl.boundary;
      to.say(writeAcl({ handle: this.handleOf(to), boundary, data: acl.data }));
    });
  }

  /** Both ends lose the link at once; by default as if each had heard nothing for too long. */
  lose(reason: number = STATUS.timeout): void {
    this.end(
      new Map([
        [this.central, reason],
        [this.peripheral, reason],
      ]),
    );
  }

  /** The link is over; those ends are told, with that reason. */
  end(reasons: ReadonlyMap<VirtualController, number>): void {
    if (!this.#open) return;
    this.#open = false;
    this.#air.links.delete(this);
    for (const end of [this.central, this.peripheral]) {
      end.unlinked(this, this.handleOf(end), reasons.get(end));
    }
  }

  /** One end vanishes without a word; the other finds out when its supervision timeout is over. */
  vanished(end: VirtualController): void {
    if (!this.#open) return;
    this.#open = false;
    this.#air.links.delete(this);
    const left = this.peerOf(end);
    end.unlinked(this, this.handleOf(end), undefined);
    this.#air.clock.after(this.supervision * 10, () =>
      left.unlinked(this, this.handleOf(left), STATUS.timeout),
    );
  }
}
