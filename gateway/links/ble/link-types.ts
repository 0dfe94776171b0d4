/** What the BLE link is given, and what it offers. */
import type { BoardId, Clock, Path, PathListener } from '../../core/types.js';
import type { Link, LinkLog } from '../link.js';
import type { BleHealth } from './health.js';
import type { BlePort } from './port.js';
import type { BleProfile, KnownBoard, Sighting } from './profile.js';

export interface BleLinkOptions {
  readonly port: BlePort;
  readonly clock: Clock;
  readonly listener: PathListener;
  readonly profiles: readonly BleProfile[];
  known(): readonly KnownBoard[];
  random(length: number): Uint8Array;
  readonly log?: LinkLog;
  /** Connections that the adapter carries; default: what it refuses teaches. */
  readonly slots?: number;
  /** Whether a board may be let go for a while so that others get its slot. Default: any. */
  mayRest?(boardId: BoardId): boolean;
  /**
   * Whether the board behind this id has proven itself (a sealed session stands). One that has
   * not within 45 s of its opening is let go, so that an impostor keeps no slot. Default: no check.
   */
  proven?(boardId: BoardId): boolean;
  /** Silence of the air after which the adapter may be deaf. Default 60,000 ms. */
  readonly deafMs?: number;
  readonly notificationsPerS?: number;
  readonly notificationBurst?: number;
}

/** A path for a pairing. */
export interface OpenedFor {
  readonly path: Path;
  /** From now on the gateway's listener is told of this path; nothing reconnects. */
  handOver(): void;
  close(reason: string): void;
}

export interface BleLink extends Link {
  health(): BleHealth;
  /** Boards heard within the last minute, strongest first. Scans only while somebody watches. */
  sightings(): Sighting[];
  onSighting(run: (sighting: Sighting) => void): () => void;
  /** `known` answers differently from now on. */
  knownChanged(): void;
  /**
   * Connects to a board that was heard at `address`, for a listener of one's own.
   * Rejects with `BleError`.
   */
  openFor(what: { address: string; board: KnownBoard }, listener: PathListener): Promise<OpenedFor>;
}
