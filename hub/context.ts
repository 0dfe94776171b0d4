/** What every feature of the hub is handed. */
import type { Database } from '../store/index.js';
import type { Agent } from './agent.js';
import type { OwnerBus } from './bus.js';
import type { HubClock, HubTime } from './clock.js';
import type { Endpoints } from './endpoint/calls.js';
import type { GatewayStreams } from './gateway-streams.js';
import type { HubLimits } from './limits.js';
import type { PushSender } from './push-sender.js';
import type { Waiters } from './waiters.js';

/** The part of a pino logger that is used; secrets are never handed to it. */
export interface HubLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface HubContext {
  readonly db: Database;
  readonly clock: HubClock;
  readonly time: HubTime;
  readonly limits: HubLimits;
  readonly log: HubLog;
  /** Origin that people and agents reach the hub under, where it was given. */
  readonly publicUrl: string | undefined;
  readonly siteName: string;
  /** Serves the tiny routes alone, as a foreign server would. */
  readonly tinyOnly: boolean;
  readonly mediaDir: string;
  /** Hosts (with their port, where it is not 443) that firmware may be published from. */
  readonly firmwareHosts: readonly string[];
  /** Who answers what devices ask, where somebody does. */
  readonly agent: Agent | undefined;
  readonly bus: OwnerBus;
  readonly waiters: Waiters;
  readonly streams: GatewayStreams;
  readonly endpoints: Endpoints;
  readonly push: PushSender;
}
