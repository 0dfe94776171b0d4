/** What `start` runs, and what it is told. */
import type { Air } from '../device-sim/radio/air.js';
import type { Journal } from '../gateway/core/journal.js';
import type { BoardView, PathListener } from '../gateway/core/types.js';
import type { Fetch } from '../gateway/doors/relay/client.js';
import type { LinkHealth } from '../gateway/links/link.js';
import type { EndpointServerOptions } from '../gateway/node/endpoint-server.js';
import type { Database } from '../store/index.js';
import type { BleChoice } from './ble-options.js';
import type { BoardAdmin } from './board-admin.js';
import type { BrokerPlace } from './board-config.js';
import type { OwnHubOptions } from './own-hub.js';
import type { OwnerAdmin } from './owner-admin.js';
import type { PairAdmin } from './pair-admin.js';
import type { ExternalBroker, SimChoice } from './start-options.js';

export interface StackOptions {
  home: string;
  /** An own hub, or one elsewhere with the owner's session token there. */
  hub: OwnHubOptions | { url: string; token: string };
  /** An own broker, one elsewhere, or none. */
  broker: { host: string; port: number } | ExternalBroker | undefined;
  sims: SimChoice[];
  /** Over which adapter BLE boards are spoken with; left out, none are. */
  ble?: BleChoice | undefined;
  /** Where hubs elsewhere may call boards by URL. */
  endpoint?: EndpointServerOptions | undefined;
  /** For the log; holds no secret. */
  log?: (what: string, about: Record<string, unknown>) => void;
  between?: Between;
}

/** What is put between two parts, for tests that watch or break what passes there. */
export interface Between {
  /** Own hub and its file. */
  hubDatabase?(database: Database): Database;
  /** Gateway and door on one side, the journal's file on the other. */
  journal?(journal: Journal): Journal;
  /** Link and gateway. */
  listener?(gateway: PathListener): PathListener;
  /** Relay door and hub. */
  fetch?(fetch: Fetch): Fetch;
  /** Where a virtual adapter sends: the air that others are on as well. */
  air?: Air;
}

export interface Stack {
  /** The hub's base URL, as this machine reaches it. */
  readonly url: string;
  /** The owner's token. */
  readonly token: string;
  readonly place: BrokerPlace | undefined;
  /** Where the endpoint door serves, if it does. */
  readonly endpointUrl: string | undefined;
  readonly admin: BoardAdmin;
  readonly owners: OwnerAdmin;
  readonly pairing: PairAdmin;
  /** How the BLE adapter is, within two seconds; undefined without one. `detail`: what to do. */
  bluetooth(): Promise<LinkHealth | undefined>;
  /** Simulated boards that wait to be paired by these codes. */
  readonly codes: readonly { name: string; code: string }[];
  boards(): BoardView[];
  onPresence(run: (board: BoardView) => void): () => void;
  /** Resolves when every simulated board can be called, or after `ms`; answers whether they can. */
  simsReady(ms: number): Promise<boolean>;
  /** Ends boards, links, broker, gateway, hub and journal, in that order. */
  stop(): Promise<void>;
}
