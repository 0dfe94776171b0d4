/** The owner of a world of the kill test: keeps fifty calls under way and reads their replies. */

/** What a call came to, as the owner reads it. */
export interface Reply {
  id: string;
  payload: string;
}

/** Calls that are sent and have not run. */
const UNDER_WAY = 50;
const LOOK_MS = 15;
/** A call that has not run by then is asked about: its board may have forgotten it. */
const OVERDUE_MS = 1_500;
const AT_ONCE = 10;

export class Owner {
  /** By number of the call: the envelope that the hub said it has. */
  readonly accepted = new Map<number, string>();
  readonly runs = new Map<number, number>();
  readonly replies = new Map<number, Reply>();
  /** By number of the call: the name of its board. */
  readonly boardOf = new Map<number, string>();
  url = '';
  token = '';
  readonly #devices: { id: string; name: string }[] = [];
  readonly #underWay = new Map<number, number>();
  #next = 0;
  #sending = 0;
  #state: 'new' | 'sending' | 'ending' | 'stopped' = 'new';

  uses(url: string, token: string): void {
    this.url = url;
    this.token = token;
  }

  ran(n: number): void {
    this.runs.set(n, (this.runs.get(n) ?? 0) + 1);
    this.#underWay.delete(n);
  }

  words(): string {
    const { accepted, runs, replies } = this;
    return `${accepted.size} accepted, ${runs.size} run, ${replies.size} replies read`;
  }

  /** Resolves once the hub calls all of them online. */
  async findsBoards(names: string[]): Promise<void> {
    for (;;) {
      const { devices } = await this.#ask('/api/devices');
      const list = devices as { id: string; name: string; online: boolean }[];
      if (list.length === names.length && list.every((device) => device.online)) {
        this.#devices.push(...names.flatMap((name) => list.filter((d) => d.name === name)));
        return;
      }
      await pause(LOOK_MS);
    }
  }

  begin(): void {
    this.#state = 'sending';
    void this.#keepSending();
    void this.#askOverdue();
  }

  stop(): void {
    this.#state = 'stopped';
  }

  /** Resolves when calls run. */
  async busy(): Promise<void> {
    const before = this.runs.size;
    while (this.runs.size === before && this.#state === 'sending') await pause(5);
  }

  /** No more is sent; resolves when each accepted call has its reply, or after `ms`. */
  async ends(ms: number): Promise<void> {
    this.#state = 'ending';
    const deadline = Date.now() + ms;
    while (this.#sending > 0) await pause(LOOK_MS);
    for (;;) {
      const open = [...this.accepted.keys()].filter((n) => !this.replies.has(n));
      if (open.length === 0 || Date.now() > deadline) return;
      await this.#readAll(open);
      await pause(LOOK_MS);
    }
  }

  async #read(n: number): Promise<Reply | undefined> {
    const id = this.accepted.get(n);
    const { reply } = await this.#ask(`/api/devices/relay?inReplyTo=${id}`);
    return (reply as Reply | null) ?? undefined;
  }

  async #keepSending(): Promise<void> {
    while (this.#state === 'sending') {
      const missing = UNDER_WAY - this.#underWay.size - this.#sending;
      for (let i = 0; i < missing; i++) void this.#send(this.#next++);
      await pause(LOOK_MS);
    }
  }

  async #send(n: number): Promise<void> {
    const device = this.#devices[n % this.#devices.length];
    if (!device) throw new Error('no board');
    this.boardOf.set(n, device.name);
    this.#sending++;
    const payload = { type: 'invoke', prompt: `mark ${n}` };
    const body = JSON.stringify({ toDevice: device.id, payload });
    const sent = await this.#ask('/api/devices/relay', { method: 'POST', body }).catch(() => ({}));
    this.#sending--;
    // Without an answer nobody knows whether the hub has it; the hub's own file will say.
    if (!('id' in sent) || typeof sent.id !== 'string') return;
    this.accepted.set(n, sent.id);
    if (!this.runs.has(n)) this.#underWay.set(n, Date.now());
  }

  /** Calls that never run (their board rebooted) make room for others once they are answered. */
  async #askOverdue(): Promise<void> {
    while (this.#state === 'sending') {
      const before = Date.now() - OVERDUE_MS;
      const overdue = [...this.#underWay].filter(([, at]) => at < before).map(([n]) => n);
      await this.#readAll(overdue);
      await pause(200);
    }
  }

  /** A hub that is down answers another time. */
  async #readAll(calls: number[]): Promise<void> {
    const rest = calls.values();
    const reader = async (): Promise<void> => {
      for (const n of rest) {
        const reply = await this.#read(n).catch(() => undefined);
        if (!reply) continue;
        this.replies.set(n, reply);
        this.#underWay.delete(n);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reader));
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.token}` };
    if (init.body) headers['content-type'] = 'application/json';
    const answer = await fetch(`${this.url}${path}`, { ...init, headers });
    return (await answer.json()) as Record<string, unknown>;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
