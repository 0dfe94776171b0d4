/** Reads one server-sent event stream until it ends, breaks, or has been silent for too long. */
import { createParser } from 'eventsource-parser';
import type { Clock, Timer } from '../../core/types.js';
import type { HubBody } from './client.js';

export interface StreamEvent {
  name: string;
  id: string | undefined;
  data: string;
}

/** One event is an offer of 8,192 characters, escaped; a longer one is no event of ours. */
const MAX_EVENT = 256 * 1024;

/**
 * Resolves to why the stream ended; never rejects. An event cut off in the middle is not told.
 * `quietMs` without a byte (comments count) ends it through `abort`.
 */
export async function readStream(
  stream: HubBody,
  options: {
    clock: Clock;
    quietMs: number;
    abort: AbortController;
    heard(): void;
    event(event: StreamEvent): void;
  },
): Promise<string> {
  const { clock, quietMs, abort } = options;
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let reason: string | undefined;
  let end: () => void = () => undefined;
  const ended = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  const parser = createParser({
    maxBufferSize: MAX_EVENT,
    onEvent: ({ event, id, data }) => options.event({ name: event ?? 'message', id, data }),
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') reason = 'an event was too large';
    },
  });
  let watchdog: Timer | undefined;
  const watch = (): void => {
    watchdog?.cancel();
    watchdog = clock.after(quietMs, () => {
      reason = `nothing was heard for ${quietMs / 1000} s`;
      end();
    });
  };
  abort.signal.addEventListener('abort', end, { once: true });
  watch();
  try {
    while (reason === undefined && !abort.signal.aborted) {
      const read = await Promise.race([reader.read(), ended]);
      if (!read) break;
      if (read.done || !read.value) {
        reason ??= 'the hub closed the stream';
        break;
      }
      watch();
      options.heard();
      parser.feed(decoder.decode(read.value, { stream: true }));
    }
  } catch (error) {
    reason ??= error instanceof Error ? error.message : 'the stream broke';
  } finally {
    watchdog?.cancel();
    abort.signal.removeEventListener('abort', end);
    abort.abort();
    void reader.cancel().catch(() => undefined);
  }
  return reason ?? 'it was closed from our side';
}
