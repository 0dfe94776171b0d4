/** The hub's event stream, followed across dropped connections without losing stored events. */
import { createParser } from 'eventsource-parser';
import type { HubClient } from './client.js';
import { CliError } from './fault.js';

export interface StreamItem {
  /** `event`, `presence` or `readings`. */
  type: string;
  data: Record<string, unknown>;
}

export interface FollowOptions {
  signal: AbortSignal;
  item(item: StreamItem): void;
  /** Said once for each loss and each return. */
  state?(state: 'open' | 'lost'): void;
  /** Resolves after `ms`, or at once when `signal` is aborted. */
  pause?(ms: number, signal: AbortSignal): Promise<void>;
  random?(): number;
  /** A stream without a byte for this long is dead: the hub sends a comment each 15 s. */
  silenceMs?: number;
}

const MAX_EVENT = 1_000_000;

function realPause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    }
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}

/**
 * Resolves when `signal` is aborted. Rejects only when the first connection fails or the hub
 * refuses: from then on a lost hub is waited for.
 */
export async function follow(hub: HubClient, options: FollowOptions): Promise<void> {
  const { signal, pause = realPause, random = Math.random } = options;
  let lastId: string | undefined;
  let opened = false;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await once(hub, options, lastId, {
        opened: () => {
          opened = true;
          failures = 0;
          options.state?.('open');
        },
        id: (id) => {
          lastId = id;
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      const refused = error instanceof CliError && error.code !== 'hub_unreachable';
      if (!opened || refused) throw error;
    }
    if (signal.aborted) return;
    if (failures === 0) options.state?.('lost');
    failures += 1;
    const most = Math.min(10_000, 250 * 2 ** Math.min(failures, 6));
    await pause(most / 2 + (random() * most) / 2, signal);
  }
}

interface Heard {
  opened(): void;
  id(id: string): void;
}

async function once(
  hub: HubClient,
  options: FollowOptions,
  lastId: string | undefined,
  heard: Heard,
): Promise<void> {
  const quiet = new AbortController();
  const silenceMs = options.silenceMs ?? 45_000;
  let timer = setTimeout(() => quiet.abort(), silenceMs);
  try {
    const signal = AbortSignal.any([options.signal, quiet.signal]);
    const response = await hub.stream(lastId, signal);
    if (response.body === null) return;
    heard.opened();
    const parser = createParser({
      maxBufferSize: MAX_EVENT,
      onEvent: ({ event, id, data }) => {
        const item = parseItem(event ?? 'message', data);
        // Told before its id is kept: a crash in between repeats it rather than losing it.
        if (item !== undefined) options.item(item);
        if (id !== undefined) heard.id(id);
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silenceMs);
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    // A stream that broke off: the loop connects again.
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined for what isn't a JSON object; a newer hub's event types pass through. */
function parseItem(type: string, data: string): StreamItem | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return { type, data: { ...value } };
  } catch {
    return undefined;
  }
}
