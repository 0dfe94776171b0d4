/**
 * One board at a foreign tiny hub: its identity there, its heartbeats, its mailbox (wire
 * document, A1, A2, B4). What was polled is claimed already: it is journaled at once.
 */
import { z } from 'zod';
import {
  adoptReply,
  cutCapabilities,
  cutText,
  enrolReply,
  heartbeatReply,
  type RelayMessage,
  relayPollReply,
  SAID,
  TINY_LIMITS,
  TINY_ROUTES,
  type TinyRoute,
} from '../../../protocol/tiny.js';
import { Backoff } from '../../core/backoff.js';
import type { BoardId, BoardView, Timer } from '../../core/types.js';
import { admitEnvelope } from './admit.js';
import { HubRefused, HubUnreachable, isTransient, Unauthorized } from './client.js';
import { callKey, type RelayDeps, ROOM } from './deps.js';
import { Strikes } from './strikes.js';

/** A response that is lost loses what it carried: few at a time. */
const POLL_MAX = 5;
const BEAT_MS = 30_000;
const IDLE_BEAT_MS = 60_000;
const POLL_MS = 5_000;
const IDLE_POLL_MS = 60_000;
/** So long without an envelope, and a board is idle. */
const QUIET_MS = 120_000;
const HALTED_MS = 300_000;
/** Longer ids are none of a tiny hub's. */
const MAX_ID = 128;

const identityText = z.object({ hub: z.string(), deviceId: z.string(), token: z.string() });
type Identity = z.infer<typeof identityText>;

export class TinyBoard {
  readonly strikes = new Strikes();
  readonly #deps: RelayDeps;
  readonly #ownerToken: string | undefined;
  readonly #id: BoardId;
  readonly #ready: () => void;
  readonly #backoff: Backoff;
  #identity: Identity | undefined;
  #online = false;
  #enrolling = false;
  #activeAt: number;
  #beat: Timer | undefined;
  #poll: Timer | undefined;
  /** Polled envelopes that the journal could not take yet. */
  #stuck: RelayMessage[] = [];
  #stopped = false;
  /** The hub took the last request. */
  connected = false;
  /** The hub refuses the owner's token. */
  ownerRefused = false;

  /** `ready` is told when the board can speak with the hub. */
  constructor(
    deps: RelayDeps,
    options: { boardId: BoardId; ownerToken: string | undefined; ready: () => void },
  ) {
    this.#deps = deps;
    this.#id = options.boardId;
    this.#ownerToken = options.ownerToken;
    this.#ready = options.ready;
    this.#backoff = new Backoff(POLL_MS, IDLE_POLL_MS, deps.random);
    this.#activeAt = deps.clock.now();
    this.#identity = this.#known();
  }

  get credential(): { deviceId: string; token: string } | undefined {
    const identity = this.#identity;
    return identity && { deviceId: identity.deviceId, token: identity.token };
  }

  get stuck(): number {
    return this.#stuck.length;
  }

  /** Presence or catalog changed: the hub hears of the board only while it can be reached. */
  seen(board: BoardView): void {
    const online = board.presence.state === 'online' && board.catalog !== undefined;
    if (online === this.#online || this.#stopped) return;
    this.#online = online;
    if (online) {
      this.#activeAt = this.#deps.clock.now();
      void this.#begin();
    } else this.#pause();
  }

  stop(): void {
    this.#stopped = true;
    this.#pause();
  }

  /** A device route with this board's credential. Counts 401s. */
  async request<S extends z.ZodType>(
    route: TinyRoute,
    body: Record<string, unknown>,
    answer: S,
    deadlineMs = 15_000,
  ): Promise<z.output<S>> {
    const { client, clock } = this.#deps;
    const { method, path } = TINY_ROUTES[route];
    const credential = this.credential;
    if (!credential) throw new HubUnreachable('this board is not enrolled at the hub yet', false);
    try {
      const said = await client.ask({
        method,
        path,
        body: { ...body, ...credential },
        answer,
        deadlineMs,
      });
      this.strikes.accepted();
      this.connected = true;
      return said;
    } catch (error) {
      this.connected = error instanceof HubRefused;
      if (error instanceof Unauthorized) {
        const before = this.strikes.halted;
        this.strikes.unauthorized(clock.now());
        if (this.strikes.halted && !before) this.#halt();
      } else if (error instanceof HubRefused && error.error === SAID.registryUnreachable) {
        throw new HubRefused(error.status, error.error, true);
      }
      throw error;
    }
  }

  #halt(): void {
    this.#deps.counters.count('tiny.halted');
    this.#deps.log('the hub no longer knows a board; only heartbeats go on', { board: this.#id });
    this.#poll?.cancel();
    this.#poll = undefined;
  }

  #pause(): void {
    this.#beat?.cancel();
    this.#poll?.cancel();
    this.#beat = undefined;
    this.#poll = undefined;
  }

  async #begin(): Promise<void> {
    if (this.#enrolling) return;
    this.#enrolling = true;
    try {
      if (!this.#identity) await this.#enrol();
      this.ownerRefused = false;
      this.#ready();
    } catch (error) {
      const forGood = !isTransient(error);
      this.ownerRefused = error instanceof Unauthorized;
      this.#deps.counters.count('tiny.enrol_failed');
      this.#deps.log('a board is not enrolled', { board: this.#id, error: String(error) });
      this.#later('beat', forGood ? HALTED_MS : this.#backoff.next(), () => this.#begin());
      return;
    } finally {
      this.#enrolling = false;
    }
    if (!this.#online || this.#stopped) return;
    this.#backoff.reset();
    this.#later('beat', 0, () => this.#heartbeat());
    this.#later('poll', 0, () => this.#fetch());
  }

  async #enrol(): Promise<void> {
    const { client, journal, switchboard } = this.#deps;
    const board = switchboard.board(this.#id);
    if (this.#ownerToken === undefined) {
      throw new HubRefused(0, 'a board can be enrolled only with an owner’s token', false);
    }
    const token = this.#ownerToken;
    const known = journal.get('device', this.#id);
    let said: { device_id: string; device_token: string } | undefined;
    if (known !== undefined) {
      const adopt = { ...TINY_ROUTES.adopt, token, body: { deviceId: known }, answer: adoptReply };
      said = await client.ask(adopt).catch((error) => {
        if (error instanceof HubRefused && error.status === 404) return undefined;
        throw error;
      });
    }
    said ??= await client.ask({
      ...TINY_ROUTES.enrol,
      token,
      body: {
        name: cutText(board?.name ?? this.#id, TINY_LIMITS.name),
        platform: cutText(board?.catalog?.platform ?? '', TINY_LIMITS.platform),
        kind: 'daemon',
        capabilities: this.#capabilities(),
      },
      answer: enrolReply,
    });
    const identity = { hub: client.base, deviceId: said.device_id, token: said.device_token };
    // In memory first: where the journal is down for now, the token must not be lost at once.
    this.#identity = identity;
    await journal.put(ROOM, `tiny/${this.#id}`, JSON.stringify(identity));
    await journal.put('device', this.#id, identity.deviceId);
  }

  #known(): Identity | undefined {
    const text = this.#deps.journal.get(ROOM, `tiny/${this.#id}`);
    if (text === undefined) return undefined;
    try {
      const read = identityText.safeParse(JSON.parse(text));
      return read.success && read.data.hub === this.#deps.client.base ? read.data : undefined;
    } catch {
      return undefined;
    }
  }

  /** What the prompt grammar dispatches, as far as the hub keeps it. */
  #capabilities(): string[] {
    const verbs = this.#deps.switchboard.board(this.#id)?.catalog?.verbs ?? [];
    return cutCapabilities(verbs.map(({ name }) => name));
  }

  async #heartbeat(): Promise<void> {
    const before = this.strikes.halted;
    try {
      await this.request('heartbeat', { capabilities: this.#capabilities() }, heartbeatReply);
      if (before) {
        this.#later('poll', 0, () => this.#fetch());
        this.#ready();
      }
    } catch (error) {
      this.#deps.counters.count('tiny.heartbeat_failed');
      this.#deps.log('a heartbeat failed', { board: this.#id, error: String(error) });
    }
    const pace = this.strikes.halted ? HALTED_MS : this.#idle ? IDLE_BEAT_MS : BEAT_MS;
    this.#later('beat', pace, () => this.#heartbeat());
  }

  get #idle(): boolean {
    return this.#deps.clock.now() - this.#activeAt >= QUIET_MS;
  }

  async #fetch(): Promise<void> {
    if (this.strikes.halted) return;
    let wait: number;
    try {
      if (this.#stuck.length === 0) {
        const { messages } = await this.request('relayPoll', { max: POLL_MAX }, relayPollReply);
        this.#stuck.push(...messages);
        if (messages.length > 0) this.#activeAt = this.#deps.clock.now();
      }
      const full = this.#stuck.length >= POLL_MAX;
      await this.#takeAll();
      this.#backoff.reset();
      const pace = this.#idle ? IDLE_POLL_MS : POLL_MS;
      wait = full ? 0 : pace * (0.9 + 0.2 * this.#deps.random());
    } catch (error) {
      wait = this.#backoff.next();
      this.#deps.counters.count('tiny.poll_failed');
      this.#deps.log('a mailbox was not emptied', { board: this.#id, error: String(error) });
    }
    this.#later('poll', wait, () => this.#fetch());
  }

  async #takeAll(): Promise<void> {
    for (let next = this.#stuck[0]; next; next = this.#stuck[0]) {
      await this.#take(next);
      this.#stuck.shift();
    }
  }

  /** Rejects while the journal takes nothing. */
  async #take({ id, payload }: RelayMessage): Promise<void> {
    const { switchboard } = this.#deps;
    const catalog = switchboard.board(this.#id)?.catalog;
    if (!catalog || id.length > MAX_ID) {
      this.#deps.counters.count('tiny.not_taken');
      return;
    }
    const key = callKey('tiny', id);
    await admitEnvelope(this.#deps, key, { id: this.#id, catalog }, payload);
    switchboard.release(key);
  }

  #later(which: 'beat' | 'poll', ms: number, run: () => Promise<void>): void {
    if (this.#stopped || (!this.#online && this.#stuck.length === 0)) return;
    if (which === 'poll' && this.strikes.halted) return;
    const timer = this.#deps.clock.after(ms, () => void run());
    if (which === 'beat') {
      this.#beat?.cancel();
      this.#beat = timer;
    } else {
      this.#poll?.cancel();
      this.#poll = timer;
    }
  }
}
