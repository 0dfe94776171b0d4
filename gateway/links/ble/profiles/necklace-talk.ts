/** One connection to a necklace: what it notifies, its status, and its answer to an identity. */
import {
  type BadLine,
  type JsonObject,
  NECKLACE_CHUNK,
  NECKLACE_CONFIG,
  NECKLACE_MAX_IDENTITY,
  NECKLACE_STATUS,
  type NecklaceIdentity,
  type NecklaceKind,
  NecklaceLines,
  type NecklaceStatus,
  type NecklaceVerdict,
  necklaceIdentityBytes,
  readStatus,
  readVerdict,
  readWake,
} from '../../../../protocol/necklace.js';
import type { Timer } from '../../../core/types.js';
import { Bucket } from '../../bucket.js';
import { within } from '../deadline.js';
import { BleError, type GattPeer } from '../port.js';
import type { ProfileContext } from '../profile.js';
import type { SpokenBoard } from '../spoken-board.js';
import { SpokenFailure } from '../spoken-calls.js';

/** Its status is asked for this often: a link that carries nothing is not an answer. */
const POLL_MS = 30_000;
const READ_MS = 10_000;
const VERDICT_MS = 20_000;
/** Wakes: so many a second for long, so many at once. People say a word, a broken board thousands. */
const WAKES_PER_S = 2;
const WAKES_AT_ONCE = 20;

export class NecklaceTalk {
  readonly #peer: GattPeer;
  readonly #spoken: SpokenBoard;
  readonly #context: ProfileContext;
  readonly #wakes: NecklaceLines;
  readonly #statuses: NecklaceLines;
  readonly #verdicts: NecklaceLines;
  readonly #bucket: Bucket;
  #last: NecklaceStatus = {};
  #closed = false;
  #readable = true;
  #poll: Timer | undefined;
  #verdict: ((verdict: NecklaceVerdict) => void) | undefined;
  #ending: ((error: SpokenFailure) => void) | undefined;

  constructor(peer: GattPeer, spoken: SpokenBoard, context: ProfileContext) {
    this.#peer = peer;
    this.#spoken = spoken;
    this.#context = context;
    this.#bucket = new Bucket(WAKES_PER_S, WAKES_AT_ONCE, context.clock.now());
    const lines = (take: (object: JsonObject) => void) =>
      new NecklaceLines(take, (why: BadLine) => context.count(`necklace.${why}`));
    this.#wakes = lines((object) => this.#woke(object));
    this.#statuses = lines((object) => this.#told(object));
    this.#verdicts = lines((object) => this.#judged(object));
  }

  wake(bytes: Uint8Array): void {
    if (!this.#closed) this.#wakes.push(bytes, this.#context.clock.now());
  }

  status(bytes: Uint8Array): void {
    if (!this.#closed) this.#statuses.push(bytes, this.#context.clock.now());
  }

  config(bytes: Uint8Array): void {
    if (!this.#closed) this.#verdicts.push(bytes, this.#context.clock.now());
  }

  /** Subscribed: from now on it must answer. */
  begin(): void {
    void this.#ask();
  }

  /** The link is gone, or is of no use any more. */
  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#poll?.cancel();
    const why = 'the necklace went away; whether it took what was written is not known';
    this.#ending?.(new SpokenFailure('link_lost', why));
  }

  /** Ends the connection from our side. */
  leave(why: string): void {
    this.#context.log('a necklace is let go', { board: this.#spoken.boardId, why });
    this.#peer.disconnect().catch(() => this.#context.count('necklace.disconnect_failed'));
  }

  /** Its status now, and what is known of it. Throws `SpokenFailure`. */
  async readNow(): Promise<Record<string, boolean | number | string>> {
    if (this.#readable && !(await this.#read())) {
      const why = 'the necklace did not answer; its status is not known. Bring it nearer.';
      throw new SpokenFailure('no_answer', why);
    }
    return valuesOf(this.#last);
  }

  /**
   * Gives it an identity (wire part B1): chunks of 20 bytes, each written with response, then
   * its verdict, which is a notification with the key `ok`. Throws `SpokenFailure`: `too_large`,
   * `busy`, `write_failed`, `no_verdict`, `link_lost`.
   */
  async provision(
    identity: NecklaceIdentity,
    kind: NecklaceKind | undefined,
  ): Promise<NecklaceVerdict> {
    const bytes = necklaceIdentityBytes(identity);
    const most = NECKLACE_MAX_IDENTITY[kind ?? 'voice'];
    if (bytes.length > most) {
      const why = `the identity is ${bytes.length} bytes and this necklace takes ${most}; nothing was written`;
      throw new SpokenFailure('too_large', why);
    }
    if (this.#ending) {
      throw new SpokenFailure('busy', 'an identity is being written already; wait for its end');
    }
    const early = new Promise<never>((_, reject) => {
      this.#ending = reject;
    });
    // It may end before anybody waits for it.
    early.catch(() => {});
    try {
      return await this.#write(bytes, early);
    } finally {
      this.#ending = undefined;
      this.#verdict = undefined;
    }
  }

  async #write(bytes: Uint8Array, early: Promise<never>): Promise<NecklaceVerdict> {
    let written = false;
    const verdict = new Promise<NecklaceVerdict>((resolve) => {
      this.#verdict = (said) => {
        // "Yes" to a part of it is about something else.
        if (written || !said.ok) resolve(said);
        else this.#context.count('necklace.early_verdict');
      };
    });
    const refused = verdict.then((said): NecklaceVerdict => said);
    for (let at = 0; at < bytes.length; at += NECKLACE_CHUNK) {
      written = at + NECKLACE_CHUNK >= bytes.length;
      const chunk = bytes.slice(at, at + NECKLACE_CHUNK);
      const write = this.#peer.write(NECKLACE_CONFIG, chunk, true).catch((error: unknown) => {
        const why = `writing failed (${error instanceof Error ? error.message : 'no reason given'}); it has no new identity`;
        throw new SpokenFailure('write_failed', why);
      });
      const said = await Promise.race([write, refused, early]);
      if (said) return said;
    }
    const waiting = within(this.#context.clock, VERDICT_MS, 'the verdict', () =>
      Promise.race([verdict, early]),
    );
    return waiting.catch((error: unknown) => {
      if (!(error instanceof BleError)) throw error;
      const why = `the necklace said nothing for ${VERDICT_MS / 1000} s; whether it took its identity is not known. Look at it, or try again.`;
      throw new SpokenFailure('no_verdict', why);
    });
  }

  #woke(object: JsonObject): void {
    const wake = readWake(object);
    if (!wake) {
      this.#context.count('necklace.not_a_wake');
      return;
    }
    if (!this.#bucket.take(1, this.#context.clock.now())) {
      this.#context.count('shed.wakes');
      return;
    }
    this.#spoken.event('nicla_wake', { label: wake.label, wake: wake.wake });
  }

  #told(object: JsonObject): void {
    const status = readStatus(object);
    if (!status) {
      this.#context.count('necklace.not_a_status');
      return;
    }
    this.#last = { ...this.#last, ...status };
    this.#spoken.readings.put(valuesOf(this.#last));
  }

  #judged(object: JsonObject): void {
    const verdict = readVerdict(object);
    if (verdict && this.#verdict) this.#verdict(verdict);
    else this.#context.count(verdict ? 'necklace.stray_verdict' : 'necklace.echo');
  }

  /** True once it has answered, whatever it said. */
  async #read(): Promise<boolean> {
    try {
      const bytes = await within(this.#context.clock, READ_MS, 'reading the status', () =>
        this.#peer.read(NECKLACE_STATUS),
      );
      const lines = new NecklaceLines(
        (object) => this.#told(object),
        (why) => this.#context.count(`necklace.${why}`),
      );
      if (!this.#closed) lines.push(bytes, 0);
      return true;
    } catch (error) {
      if (error instanceof BleError && error.code === 'no_characteristic') {
        this.#readable = false;
        return true;
      }
      this.#context.count('necklace.no_answer');
      return false;
    }
  }

  async #ask(): Promise<void> {
    const answered = await this.#read();
    if (this.#closed) return;
    if (!answered) this.leave('it does not answer');
    else if (this.#readable) {
      this.#poll = this.#context.clock.after(POLL_MS, () => void this.#ask());
    }
  }
}

function valuesOf(status: NecklaceStatus): Record<string, boolean | number | string> {
  const { ndp, mic, wakes, lastLabel, uptimeS } = status;
  // Half of it off is not listening, whatever the other half says.
  const listening =
    ndp === false || mic === false ? false : ndp === true && mic === true ? true : undefined;
  return {
    ...(listening === undefined ? {} : { listening }),
    ...(ndp === undefined ? {} : { ndp }),
    ...(mic === undefined ? {} : { mic }),
    ...(wakes === undefined ? {} : { wakes }),
    ...(lastLabel === undefined ? {} : { last_label: lastLabel }),
    ...(uptimeS === undefined ? {} : { uptime: uptimeS }),
  };
}
