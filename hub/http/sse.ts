/** One event stream: headers that keep proxies from holding it back, pings, bounded memory. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HubClock } from '../clock.js';
import { SECURITY_HEADERS } from './headers.js';

const PING_MS = 15_000;
/** A reader this far behind is cut off; it resumes by `Last-Event-ID`. */
const BEHIND_BYTES = 4 * 1024 * 1024;

export class SseStream {
  private timer: { cancel(): void } | undefined;
  private ended = false;

  constructor(
    private readonly reply: FastifyReply,
    private readonly clock: HubClock,
    /** Called once, whichever side ends it. */
    private readonly closed: () => void,
    private readonly pingMs = PING_MS,
  ) {
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...SECURITY_HEADERS,
      connection: 'keep-alive',
    });
    raw.socket?.setNoDelay(true);
    raw.on('close', () => this.finish());
    raw.on('error', () => this.finish());
    raw.write('retry: 1000\n: open\n\n');
    this.ping();
  }

  send(event: string, data: unknown, id?: number): void {
    // JSON has no line breaks of its own, so one data line holds it.
    const line = id === undefined ? '' : `id: ${id}\n`;
    this.write(`${line}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** A line of data and nothing else, for clients that know no names of events. */
  data(line: string): void {
    this.write(`data: ${line}\n\n`);
  }

  end(): void {
    if (this.ended) return;
    this.reply.raw.end();
    this.finish();
  }

  private write(text: string): void {
    if (this.ended) return;
    const { raw } = this.reply;
    raw.write(text);
    if (raw.writableLength > BEHIND_BYTES) {
      raw.destroy();
      this.finish();
    }
  }

  private ping(): void {
    this.timer = this.clock.after(this.pingMs, () => {
      this.write(': ping\n\n');
      if (!this.ended) this.ping();
    });
  }

  private finish(): void {
    if (this.ended) return;
    this.ended = true;
    this.timer?.cancel();
    this.closed();
  }
}

/** `Last-Event-ID`, or undefined where there is none or it is junk. */
export function lastEventIdOf(request: FastifyRequest): number | undefined {
  const header = request.headers['last-event-id'];
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}
