/**
 * The relay door: takes envelopes of a hub's mailbox to boards and their replies back. Finds out
 * from `/api/health` how the hub is spoken to, and goes on trying while it can't be reached.
 */
import { enrolReply } from '../../../protocol/gateway-api.js';
import { type HealthReply, healthReply, TINY_LIMITS, TINY_ROUTES } from '../../../protocol/tiny.js';
import { Backoff } from '../../core/backoff.js';
import type { BlobStore } from '../../core/blob-store.js';
import type { CallRecord, Journal } from '../../core/journal.js';
import type { Clock, Switchboard, Timer } from '../../core/types.js';
import { type Fetch, HubClient, HubRefused, HubUnreachable } from './client.js';
import {
  Counters,
  DOOR,
  envelopeOf,
  type Mode,
  type ModeState,
  type RelayDeps,
  ROOM,
} from './deps.js';
import type { HandoverHost, Handovers } from './handovers.js';
import type { LinkState } from './live.js';
import { PushMode } from './push.js';
import { TinyMode } from './tiny-mode.js';

export { HubRefused, HubUnreachable, Unauthorized } from './client.js';

export interface RelayDoorOptions {
  switchboard: Switchboard;
  journal: Journal;
  /** Where the boards' pictures are; without it replies describe them. */
  blobs?: Pick<BlobStore, 'read'>;
  /** How the gateway's links are; told to the own hub each minute. */
  links?: () => readonly LinkState[];
  hub: {
    /** Base of the hub, http or https. */
    url: string;
    /** `mgw_…`, for a hub with `/api/gateway/v1`. */
    gatewayToken?: string;
    /** Enrols boards at a tiny hub, and this gateway at a hub of ours that has no token yet. */
    ownerToken?: string;
  };
  clock: Clock;
  /** 0 to below 1. */
  random: () => number;
  fetch?: Fetch;
  log?: (what: string, about: Record<string, unknown>) => void;
  /** Milliseconds that a call has, default 60,000, and with progress at most, default 600,000. */
  ttlMs?: number;
  maxMs?: number;
  /** Whether envelopes may use protected verbs; default false. */
  allowProtected?: boolean;
  /** Who hands boards over to other gateways of the owner; without it none is. */
  handover?: HandoverHost;
  /** What the gateway is called where it enrols itself; default `gateway`. */
  name?: string;
}

export interface RelayState extends Omit<ModeState, 'mode'> {
  /** `finding`: the hub has not answered yet. */
  mode: 'finding' | 'push' | 'tiny';
  /** Items of the journal that wait for the hub; counted up to 1,000. */
  waiting: number;
  /** Shed, refused and failed things by name since the start. */
  counters: Record<string, number>;
}

export interface RelayDoor {
  /** Begins at once and never fails: a hub that is down is tried again. */
  start(): void;
  stop(): void;
  state(): RelayState;
  /** Undefined while no hub that can do it is there. */
  readonly handovers: Pick<Handovers, 'ask' | 'stored'> | undefined;
}

/** A hub that offers nothing we can use with our tokens is asked again after this. */
const UNUSABLE_MS = 60_000;

/** @throws TypeError where the hub's URL is none. */
export function createRelayDoor(options: RelayDoorOptions): RelayDoor {
  return new Relay(options);
}

class Relay implements RelayDoor {
  readonly #options: RelayDoorOptions;
  readonly #deps: RelayDeps;
  readonly #backoff: Backoff;
  #mode: Mode | undefined;
  #early: CallRecord[] = [];
  #timer: Timer | undefined;
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(options: RelayDoorOptions) {
    const { switchboard, journal, clock, random, blobs } = options;
    this.#options = options;
    this.#backoff = new Backoff(250, 60_000, random);
    const fetch: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#deps = {
      switchboard,
      journal,
      clock,
      random,
      blobs,
      links: options.links,
      handover: options.handover,
      client: new HubClient({ url: options.hub.url, fetch, clock }),
      log: options.log ?? (() => undefined),
      ttlMs: options.ttlMs ?? 60_000,
      maxMs: options.maxMs ?? 600_000,
      allowProtected: options.allowProtected ?? false,
      counters: new Counters(),
    };
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    this.#deps.switchboard.attach(DOOR, {
      resume: async (record) => {
        if (this.#mode) this.#resume(this.#mode, record);
        else this.#early.push(record);
      },
      report: async (record) => this.#modeOf(record)?.report(record),
      late: async (record) => this.#modeOf(record)?.late(record),
      progress: (record, progress) => this.#mode?.progress(record, progress),
    });
    void this.#find();
  }

  get handovers(): Handovers | undefined {
    return this.#mode?.handovers;
  }

  stop(): void {
    this.#state = 'stopped';
    this.#timer?.cancel();
    this.#mode?.stop();
  }

  state(): RelayState {
    const idle = { connected: false, unauthorized: false, boards: 0, held: 0, running: 0 };
    return {
      ...(this.#mode?.state() ?? { mode: 'finding', ...idle }),
      waiting: this.#deps.journal.pending(1_000).length,
      counters: { ...this.#deps.counters.all },
    };
  }

  /**
   * Throws, so that the switchboard asks again, while this hub can't be told of the call.
   * Undefined once no hub would keep its reply any more.
   */
  #modeOf(record: CallRecord): Mode | undefined {
    const mode = this.#mode;
    if (!mode || this.#state !== 'running') {
      throw new HubUnreachable('the hub has not been found yet', false);
    }
    if (envelopeOf(record.call.key).mode === mode.kind) return mode;
    if (this.#deps.clock.wall() - record.admittedAt > TINY_LIMITS.keptS * 1000) {
      this.#deps.counters.count('replies.too_old');
      return undefined;
    }
    throw new HubUnreachable('this call came from a hub that is spoken to in another way', false);
  }

  #resume(mode: Mode, record: CallRecord): void {
    const { key } = record.call;
    if (envelopeOf(key).mode === mode.kind) mode.resume(record);
    // A polled envelope is ours for good. An offered one may be another's by now: it stays shut
    // in until its hub is back.
    else if (mode.kind === 'push') this.#deps.switchboard.release(key);
    else this.#deps.log('a call waits for the hub that it came from', { key });
  }

  async #find(): Promise<void> {
    const { log } = this.#deps;
    let wait: number;
    try {
      const mode = await this.#modeFor(await this.#health());
      if (this.#state !== 'running') return;
      if (mode) {
        this.#backoff.reset();
        this.#use(mode);
        return;
      }
      wait = UNUSABLE_MS;
      log('this hub can’t be used: it has no gateway routes and no owner’s token was given', {});
    } catch (error) {
      if (this.#state !== 'running') return;
      wait = this.#backoff.next();
      this.#deps.counters.count('hub.not_found');
      log('the hub can’t be reached', { wait: Math.round(wait), error: String(error) });
    }
    this.#timer = this.#deps.clock.after(wait, () => void this.#find());
  }

  #use(mode: Mode): void {
    this.#mode = mode;
    mode.start();
    const early = this.#early;
    this.#early = [];
    for (const record of early) this.#resume(mode, record);
  }

  /** A hub without this route is a tiny hub of the older kind. */
  async #health(): Promise<HealthReply | undefined> {
    try {
      return await this.#deps.client.ask({ ...TINY_ROUTES.health, answer: healthReply });
    } catch (error) {
      if (error instanceof HubRefused && error.status === 404) return undefined;
      throw error;
    }
  }

  async #modeFor(health: HealthReply | undefined): Promise<Mode | undefined> {
    const { ownerToken } = this.#options.hub;
    if (health?.gateway) {
      const token = await this.#gatewayToken();
      if (token !== undefined) {
        const streamPath = health.gateway.stream;
        return new PushMode(this.#deps, { token, streamPath, lost: () => this.#again() });
      }
    }
    return ownerToken === undefined ? undefined : new TinyMode(this.#deps, { ownerToken });
  }

  async #gatewayToken(): Promise<string | undefined> {
    const { gatewayToken, ownerToken } = this.#options.hub;
    if (gatewayToken !== undefined) return gatewayToken;
    const { journal, client } = this.#deps;
    const key = `token/${client.base}`;
    const known = journal.get(ROOM, key);
    if (known !== undefined || ownerToken === undefined) return known;
    const { gateway_token } = await client.ask({
      method: 'POST',
      path: '/api/gateway/v1/enrol',
      token: ownerToken,
      body: { name: this.#options.name ?? 'gateway' },
      answer: enrolReply,
    });
    await journal.put(ROOM, key, gateway_token);
    return gateway_token;
  }

  /** The hub has changed: what it offers is found out anew. */
  #again(): void {
    this.#mode?.stop();
    this.#mode = undefined;
    this.#timer = this.#deps.clock.after(this.#backoff.next(), () => void this.#find());
  }
}
