/** The own hub's mode: one push stream for all boards, claims before calls, batches upward. */
import { STREAM_EVENTS } from '../../../protocol/gateway-api.js';
import { Backoff } from '../../core/backoff.js';
import type { CallRecord } from '../../core/journal.js';
import type { BoardId, Outcome, Progress, Timer } from '../../core/types.js';
import { Asks } from './asks.js';
import { Batcher } from './batcher.js';
import { HubRefused, Unauthorized } from './client.js';
import { envelopeOf, type Mode, type ModeState, type RelayDeps } from './deps.js';
import { Handovers } from './handovers.js';
import { Media } from './media.js';
import { PushBoards } from './push-boards.js';
import { Offers } from './push-offers.js';
import { type Claim, PushRequests, type Reply, type ReplyStatus } from './push-requests.js';
import { UpPump } from './push-up.js';
import { replyText } from './reply.js';
import { readStream, type StreamEvent } from './sse.js';

const QUIET_MS = 40_000;
const STEADY_MS = 10_000;
const HEALTH_MS = 60_000;
const CLAIMS = 200;
const REPLIES = 64;

export class PushMode implements Mode {
  readonly kind = 'push';
  readonly handovers: Handovers;
  readonly #deps: RelayDeps;
  readonly #token: string;
  readonly #streamPath: string;
  readonly #lost: () => void;
  readonly #boards: PushBoards;
  readonly #offers: Offers;
  readonly #up: UpPump;
  readonly #asks: Asks;
  readonly #media: Media;
  readonly #claims: Batcher<string, Claim>;
  readonly #replies: Batcher<Reply, ReplyStatus>;
  readonly #backoff: Backoff;
  readonly #unsubscribe: (() => void)[] = [];
  #abort: AbortController | undefined;
  #timer: Timer | undefined;
  #healthTimer: Timer | undefined;
  #lastEventId: string | undefined;
  #fails = 0;
  #connected = false;
  #unauthorized = false;
  #stopped = false;

  /** `lost` is told when the hub no longer has these routes. */
  constructor(deps: RelayDeps, options: { token: string; streamPath: string; lost: () => void }) {
    this.#deps = deps;
    this.#token = options.token;
    this.#streamPath = options.streamPath;
    this.#lost = options.lost;
    this.#backoff = new Backoff(250, 60_000, deps.random);
    this.#boards = new PushBoards(deps, this.#token, (board, deviceId) => {
      this.#up.presence(board.id, board.presence);
      this.#offers.boardReady(deviceId);
      this.#asks.kick();
    });
    const deviceOf = (boardId: BoardId): string | undefined => this.#boards.deviceOf(boardId);
    this.handovers = new Handovers(deps, this.#token);
    const requests = new PushRequests(deps.client, this.#token);
    this.#media = new Media(deps, (_boardId, bytes, type) => requests.upload(bytes, type));
    this.#up = new UpPump({ ...deps, token: this.#token, deviceOf, media: this.#media });
    this.#asks = new Asks({
      ...deps,
      media: this.#media,
      speakFor: (boardId) => {
        const deviceId = deviceOf(boardId);
        return deviceId === undefined ? undefined : { body: { deviceId }, token: this.#token };
      },
    });
    this.#offers = new Offers({
      ...deps,
      boardOf: (deviceId) => this.#boards.boardOf(deviceId),
      claim: (id) => this.#claims.add(id),
      offerAgain: () => this.#offerAgain(),
      repeat: (record) =>
        void this.report(record).catch((error) =>
          deps.log('an outcome was not told again', { error: String(error) }),
        ),
    });
    const failed = (what: string) => (error: unknown, wait: number) => {
      deps.counters.count(`${what}.failed`);
      deps.log(`${what} wait for the hub`, { wait: Math.round(wait), error: String(error) });
    };
    const { clock, random } = deps;
    this.#claims = new Batcher({
      clock,
      random,
      max: CLAIMS,
      run: (ids) => requests.claim(ids),
      failed: failed('claims'),
    });
    this.#replies = new Batcher({
      clock,
      random,
      max: REPLIES,
      run: (replies) => requests.reply(replies),
      failed: failed('replies'),
    });
  }

  start(): void {
    const { switchboard } = this.#deps;
    this.#unsubscribe.push(
      switchboard.on('presence', (board) => {
        this.#boards.refresh(board);
        this.#up.presence(board.id, board.presence);
        const deviceId = this.#boards.deviceOf(board.id);
        if (deviceId !== undefined && board.presence.state === 'online') {
          this.#offers.boardReady(deviceId);
        }
      }),
      switchboard.on('catalog', (board) => this.#boards.refresh(board)),
      switchboard.on('readings', (board, values, at) => this.#up.readings(board.id, values, at)),
      switchboard.on('kept', () => {
        this.#up.kick();
        this.#asks.kick();
      }),
    );
    for (const board of switchboard.boards()) this.#boards.refresh(board);
    this.#up.kick();
    this.#tellHealth();
    void this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    for (const off of this.#unsubscribe) off();
    this.#timer?.cancel();
    this.#healthTimer?.cancel();
    this.#abort?.abort();
    this.#offers.stop();
    this.#boards.stop();
    this.#up.stop();
    this.#asks.stop();
    this.#claims.stop();
    this.#replies.stop();
  }

  state(): ModeState {
    return {
      mode: 'push',
      connected: this.#connected,
      unauthorized: this.#unauthorized,
      boards: this.#boards.size,
      held: this.#offers.held,
      running: this.#offers.running,
    };
  }

  resume(record: CallRecord): void {
    this.#offers.resume(record);
  }

  async report(record: CallRecord): Promise<void> {
    const { counters, log } = this.#deps;
    const { envelopeId } = envelopeOf(record.call.key);
    if (!this.#offers.isClaimed(envelopeId)) {
      const claim = await this.#claims.add(envelopeId);
      if (!claim.held && claim.why !== 'answered') {
        counters.count(`claims.${claim.why}`);
        this.#offers.finished(envelopeId);
        return;
      }
    }
    const payload = await this.#payload(record, record.outcome);
    let status = await this.#replies.add({ envelope_id: envelopeId, payload });
    if (status === 'bad_payload') {
      // It fits our own rules and not the hub's: that there was an outcome must still be told.
      log('the hub refused a reply', { envelope: envelopeId });
      const message = 'The outcome is known to the gateway, but the hub refused its text.';
      const outcome: Outcome = { kind: 'outcome_unknown', message };
      status = await this.#replies.add({ envelope_id: envelopeId, payload: replyText(outcome) });
    }
    counters.count(`replies.${status}`);
    this.#offers.finished(envelopeId);
  }

  async late(record: CallRecord): Promise<void> {
    const { envelopeId } = envelopeOf(record.call.key);
    const payload = await this.#payload(record, record.late);
    await this.#up.late(record.call.boardId, envelopeId, payload);
  }

  progress(record: CallRecord, progress: Progress): void {
    this.#up.progress(record.call.boardId, envelopeOf(record.call.key).envelopeId, progress);
  }

  /** Also tells the hub that this gateway is there while its boards are silent. */
  #tellHealth(): void {
    const { links, clock } = this.#deps;
    if (!links) return;
    this.#up.health(links());
    this.#healthTimer = clock.after(HEALTH_MS, () => this.#tellHealth());
  }

  async #payload(record: CallRecord, outcome: Outcome | undefined): Promise<string> {
    const pictures = await this.#media.pictures(record.call.boardId, outcome);
    return replyText(
      outcome ?? { kind: 'outcome_unknown', message: 'No outcome is known.' },
      pictures,
    );
  }

  async #connect(): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    try {
      // After a longer outage the hub may be another, with other numbers: ask for everything.
      if (this.#fails > 1) this.#lastEventId = undefined;
      const stream = await this.#deps.client.open(this.#streamPath, {
        token: this.#token,
        abort,
        ...(this.#lastEventId === undefined ? {} : { lastEventId: this.#lastEventId }),
      });
      this.#opened();
      const openedAt = this.#deps.clock.now();
      const reason = await readStream(stream, {
        clock: this.#deps.clock,
        quietMs: QUIET_MS,
        abort,
        heard: () => {
          // A stream that ends at once (a second gateway with our token) must not be hammered.
          if (this.#deps.clock.now() - openedAt >= STEADY_MS) this.#backoff.reset();
        },
        event: (event) => this.#event(event),
      });
      if (!this.#stopped) this.#deps.log('the hub’s stream ended', { reason });
    } catch (error) {
      this.#failedToOpen(error);
    }
    this.#connected = false;
    if (this.#stopped) return;
    this.#fails++;
    this.#deps.counters.count('stream.reconnects');
    this.#timer = this.#deps.clock.after(this.#backoff.next(), () => void this.#connect());
  }

  #opened(): void {
    this.#connected = true;
    this.#unauthorized = false;
    this.#fails = 0;
    for (const board of this.#deps.switchboard.boards()) {
      this.#boards.refresh(board);
      if (this.#boards.deviceOf(board.id)) this.#up.presence(board.id, board.presence);
    }
    this.#up.kick(true);
    this.#claims.hurry();
    this.#replies.hurry();
    this.#asks.kick();
  }

  #failedToOpen(error: unknown): void {
    if (this.#stopped) return;
    const isNew = error instanceof Unauthorized && !this.#unauthorized;
    if (error instanceof Unauthorized) this.#unauthorized = true;
    if (isNew || !(error instanceof Unauthorized)) {
      this.#deps.log('no stream from the hub', { error: String(error) });
    }
    if (error instanceof HubRefused && error.status === 404) this.#lost();
  }

  #event({ name, id, data }: StreamEvent): void {
    const { counters, log } = this.#deps;
    try {
      if (name === 'offer') this.#offers.offer(STREAM_EVENTS.offer.parse(JSON.parse(data)));
      else if (name === 'cancel') {
        this.#offers.cancel(STREAM_EVENTS.cancel.parse(JSON.parse(data)).envelope_id);
      } else if (name === 'handover') {
        this.#handover(this.handovers.wanted(STREAM_EVENTS.handover.parse(JSON.parse(data))));
      } else if (name === 'handed_over') {
        this.#handover(this.handovers.left(STREAM_EVENTS.handed_over.parse(JSON.parse(data))));
      } else counters.count('stream.unknown');
    } catch (error) {
      counters.count('stream.bad');
      log('an event of the hub can’t be read', { event: name, error: String(error).slice(0, 200) });
    }
    if (id !== undefined && id !== '') this.#lastEventId = id;
  }

  /** The hub tells again what it was not told the end of. */
  #handover(step: Promise<void>): void {
    step.catch((error) => {
      this.#deps.counters.count('handover.failed');
      this.#deps.log('a step of a handover failed', { error: String(error).slice(0, 300) });
    });
  }

  /** Connects anew without a last id: the hub then offers everything undelivered. */
  #offerAgain(): void {
    if (!this.#connected) this.#fails = 2;
    this.#lastEventId = undefined;
    this.#abort?.abort();
  }
}
