/** Child processes of the bench: what is measured and what loads it never share an event loop. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HubRequests } from './hub-wire.js';
import type { FleetRequests, HostRequests, Requests } from './wire.js';

const PATIENCE_MS = 120_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class Child<R extends Requests> {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;

  constructor(module: string, nodeArguments: string[] = []) {
    this.#process = fork(fileURLToPath(new URL(module, import.meta.url)), [], {
      execArgv: ['--enable-source-maps', ...nodeArguments],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#process.on('message', (raw: { id: number; answer?: unknown; error?: string }) => {
      const waiting = this.#waiting.get(raw.id);
      this.#waiting.delete(raw.id);
      if (raw.error === undefined) waiting?.resolve(raw.answer);
      else waiting?.reject(new Error(raw.error));
    });
    this.#process.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`${module} ended (${signal ?? code}) before it answered`));
      }
      this.#waiting.clear();
    });
  }

  ask<K extends keyof R & string>(what: K, ask: R[K]['ask']): Promise<R[K]['answer']> {
    const id = ++this.#asked;
    return new Promise<R[K]['answer']>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`${what} was not answered within ${PATIENCE_MS / 1000} s`));
      }, PATIENCE_MS);
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          then(value);
        };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#process.send({ id, what, ask });
    });
  }

  /** Ends the process, gently where it still listens. */
  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()));
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 10_000);
    await this.ask('stop', {}).catch(() => undefined);
    this.#process.kill('SIGTERM');
    await ended;
    clearTimeout(timer);
  }
}

export type Host = Child<HostRequests>;
export type Fleet = Child<FleetRequests>;

export const startHost = (): Host => new Child<HostRequests>('./host.js', ['--expose-gc']);
export const startFleet = (): Fleet => new Child<FleetRequests>('./fleet.js');
export const startHubHost = () => new Child<HubRequests>('./hub-host.js', ['--expose-gc']);
