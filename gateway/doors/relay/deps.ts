/** What every part of the relay door is handed. */
import type { BlobStore } from '../../core/blob-store.js';
import type { CallRecord, Journal } from '../../core/journal.js';
import type { BoardId, Clock, Progress, Switchboard } from '../../core/types.js';
import type { HubClient } from './client.js';
import type { HandoverHost, Handovers } from './handovers.js';
import type { LinkState } from './live.js';

export interface RelayDeps {
  readonly switchboard: Switchboard;
  readonly journal: Journal;
  readonly clock: Clock;
  /** 0 to below 1. */
  readonly random: () => number;
  readonly blobs: Pick<BlobStore, 'read'> | undefined;
  readonly client: HubClient;
  /** How the gateway's links are, for hubs that show it. */
  readonly links: (() => readonly LinkState[]) | undefined;
  readonly handover: HandoverHost | undefined;
  readonly log: (what: string, about: Record<string, unknown>) => void;
  /** Milliseconds a call has from admission, and the most that progress may stretch it to. */
  readonly ttlMs: number;
  readonly maxMs: number;
  readonly allowProtected: boolean;
  readonly counters: Counters;
}

/** What went wrong or was shed, by name; shown in `state()`. */
export class Counters {
  readonly all: Record<string, number> = {};

  count(name: string, by = 1): void {
    this.all[name] = (this.all[name] ?? 0) + by;
  }
}

/** How the door speaks with one kind of hub. */
export interface Mode {
  readonly kind: 'push' | 'tiny';
  start(): void;
  stop(): void;
  resume(record: CallRecord): void;
  report(record: CallRecord): Promise<void>;
  late(record: CallRecord): Promise<void>;
  progress(record: CallRecord, progress: Progress): void;
  state(): ModeState;
  /** Where the hub can bring a board here from another gateway. */
  readonly handovers?: Handovers;
}

export interface ModeState {
  mode: 'push' | 'tiny';
  /** The hub answered last time. */
  connected: boolean;
  /** The hub does not take our credential. */
  unauthorized: boolean;
  /** Boards that the hub knows. */
  boards: number;
  /** Envelopes known and not claimed. */
  held: number;
  /** Calls claimed and not answered yet. */
  running: number;
}

/** The name under which the door stands in the switchboard and the journal. */
export const DOOR = 'relay';
/** Room of the journal for the door's own values. */
export const ROOM = 'door';

/** A call's key says how its envelope was claimed, so that a restart knows too. */
export const callKey = (mode: Mode['kind'], envelopeId: string): string => `${mode}/${envelopeId}`;

export function envelopeOf(key: string): { mode: string; envelopeId: string } {
  const slash = key.indexOf('/');
  return { mode: key.slice(0, slash), envelopeId: key.slice(slash + 1) };
}

/** The hub's name for a board, kept across restarts. */
export function deviceOf(journal: Journal, boardId: BoardId): string | undefined {
  return journal.get('device', boardId);
}
