/**
 * Everything in one process: hub, gateway, broker and simulated boards, put together from the
 * rooms. Exported as `motebridge/testing` as well.
 */

import type { Air } from '../device-sim/radio/air.js';
import type { BlobStore } from '../gateway/core/blob-store.js';
import type { BoardId } from '../gateway/core/types.js';
import { createEndpointDoor } from '../gateway/doors/endpoint.js';
import type { Gateway } from '../gateway/index.js';
import type { Broker } from '../gateway/links/broker-options.js';
import type { Link } from '../gateway/links/link.js';
import { nodeClock } from '../gateway/node/clock.js';
import { boardOfSecret } from '../gateway/node/endpoint-secret.js';
import { startEndpointServer } from '../gateway/node/endpoint-server.js';
import { type Ble, BleBoards } from './ble.js';
import { bookAdmin } from './board-admin.js';
import type { BrokerPlace } from './board-config.js';
import { openBrokerLink } from './broker-link.js';
import { HubClient } from './client.js';
import { CliError, usage } from './fault.js';
import { openGateway } from './gateway.js';
import { oneDevice } from './one-device.js';
import { hubLog, type OwnHub, type OwnHubOptions, openOwnHub, reachable } from './own-hub.js';
import { hubOwners, noOwners } from './owner-admin.js';
import { noPairing } from './pair-admin.js';
import { openParts, type Parts } from './parts.js';
import type { SimEndpoints } from './sim-endpoints.js';
import type { Sims } from './sims.js';
import type { Stack, StackOptions } from './stack-types.js';
import { type BoardChoice, isBoard, isOwn, type OwnChoice } from './start-options.js';

export type { Between, Stack, StackOptions } from './stack-types.js';
export type { SimChoice, SimKind } from './start-options.js';

const POLL_MS = 50;

/**
 * Rejects when a part can't start, with everything that had started ended again; the error of a
 * port that can't be had carries `part: 'broker'` where it is the broker's.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const building = new Building(options);
  try {
    return await building.run();
  } catch (error) {
    await building.end();
    throw error;
  }
}

class Building {
  readonly #options: StackOptions;
  readonly #clock = nodeClock();
  readonly #log: NonNullable<StackOptions['log']>;
  /** What ends each part, in the order they began. */
  readonly #ends: (() => Promise<void> | void)[] = [];
  #broker: Broker | undefined;
  readonly #links: Link[] = [];
  #ble: BleBoards | undefined;
  #gateway: Gateway | undefined;
  #parts: Parts | undefined;
  #sims: Sims | undefined;
  #hub: HubClient | undefined;

  constructor(options: StackOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => undefined);
  }

  async run(): Promise<Stack> {
    const { home, hub, sims: choices } = this.#options;
    const parts = await openParts(home, (boardId) => this.#forget(boardId));
    this.#ends.push(() => parts.close());
    this.#parts = parts;
    if (this.#options.ble !== undefined) this.#ble = new BleBoards(parts);
    const called = await this.#playCalled(parts);
    const own = 'url' in hub ? undefined : await this.#ownHub(parts, hub, called);
    const target = own ?? (hub as { url: string; token: string });
    this.#hub = new HubClient({ url: target.url, token: target.token });
    const { gateway, door, blobs } = await openGateway({
      parts,
      target,
      own,
      ble: this.#ble,
      links: this.#links,
      between: this.#options.between,
      clock: this.#clock,
      log: this.#log,
      ends: this.#ends,
    });
    this.#gateway = gateway;
    const endpointUrl = await this.#serveEndpoint(gateway, blobs, parts);
    const place = await this.#linkTo(gateway, parts);
    const ble = await this.#bleOf(gateway);
    door.start();
    this.#ble?.resume();
    const boards = choices.filter(isBoard);
    if (ble?.air !== undefined) this.#sims = await this.#playOnAir(parts, ble, ble.air, boards);
    else if (boards.length > 0 && place !== undefined) {
      this.#sims = await this.#play(parts, place, boards.filter(isOwn));
    }
    await called?.enrol(target);
    return {
      url: target.url,
      token: target.token,
      place,
      endpointUrl,
      admin: bookAdmin(parts.book, () => place ?? { host: '127.0.0.1', port: 1883, tls: false }, {
        renamed: (boardId) => gateway.renamed(boardId),
        endpointUrl,
      }),
      owners: own === undefined ? noOwners : hubOwners(own.hub),
      pairing: ble?.pairing ?? noPairing,
      bluetooth: async () => ble?.adapter(),
      codes: this.#sims?.codes ?? [],
      boards: () => gateway.boards(),
      onPresence: (run) => gateway.on('presence', run),
      simsReady: (ms) => this.#simsReady(ms),
      stop: () => this.end(),
    };
  }

  /** Before the hub, which is told where they are. */
  async #playCalled(parts: Parts): Promise<SimEndpoints | undefined> {
    const { hub, sims } = this.#options;
    const names = sims.filter((choice) => !isBoard(choice)).map(({ name }) => name);
    if (names.length === 0) return undefined;
    if ('url' in hub) {
      throw usage('A hub elsewhere can’t call a simulated endpoint here; leave --hub out.');
    }
    const { startSimEndpoints } = await import('./sim-endpoints.js');
    const called = await startSimEndpoints(parts.home.path('sims'), names);
    this.#ends.push(() => called.stop());
    return called;
  }

  async #ownHub(
    parts: Parts,
    at: OwnHubOptions,
    called: SimEndpoints | undefined,
  ): Promise<OwnHub> {
    const hosts = [...(at.callHosts ?? []), ...(called?.hosts ?? [])];
    const ca = [at.callCa, called?.ca].filter((pem) => pem !== undefined);
    const told = { ...at, callHosts: hosts, ...(ca.length === 0 ? {} : { callCa: ca.join('\n') }) };
    const log = hubLog(this.#log);
    const own = await openOwnHub(parts, told, this.#options.between?.hubDatabase, log);
    this.#ends.push(() => own.hub.close());
    return own;
  }

  /** The URL under which hubs elsewhere may call boards; undefined where that is off. */
  async #serveEndpoint(
    switchboard: Gateway,
    blobs: BlobStore,
    { book }: Parts,
  ): Promise<string | undefined> {
    const { endpoint } = this.#options;
    if (endpoint === undefined) return undefined;
    const boardOf = (secret: string): BoardId | undefined => boardOfSecret(book, secret);
    const door = createEndpointDoor({ switchboard, blobs, boardOf });
    const server = await startEndpointServer(door, endpoint).catch((error) => {
      throw error instanceof Error ? Object.assign(error, { part: 'endpoint' }) : error;
    });
    this.#ends.push(() => server.close());
    const scheme = endpoint.tls === undefined ? 'http' : 'https';
    return `${scheme}://${reachable(endpoint.host)}:${server.port}`;
  }

  /** Where boards connect; undefined without a broker. */
  async #linkTo(gateway: Gateway, parts: Parts): Promise<BrokerPlace | undefined> {
    const { broker, between } = this.#options;
    if (broker === undefined) return undefined;
    const { link, own, place } = await openBrokerLink({
      broker,
      clock: this.#clock,
      listener: between?.listener?.(gateway) ?? gateway,
      password: (boardId) => parts.book.password(boardId),
      log: this.#linkLog,
    });
    this.#broker = own;
    this.#links.push(link);
    this.#ends.push(() => link.close());
    return place;
  }

  async #bleOf(gateway: Gateway): Promise<Ble | undefined> {
    const { ble: choice, between } = this.#options;
    if (choice === undefined) return undefined;
    const listener = between?.listener?.(gateway) ?? gateway;
    const ble = await this.#ble?.open({
      choice,
      gateway,
      listener,
      clock: this.#clock,
      deviceId: async (wanted) =>
        oneDevice((await this.#hub?.devices()) ?? [], wanted, 'adopted').id,
      log: this.#linkLog,
      air: between?.air,
    });
    if (ble === undefined) return undefined;
    this.#links.push(ble.link);
    this.#ends.push(() => ble.close());
    return ble;
  }

  readonly #linkLog = (line: string, details?: Record<string, string | number>): void =>
    this.#log(line, details ?? {});

  async #play(parts: Parts, place: BrokerPlace, choices: OwnChoice[]): Promise<Sims> {
    const { broker } = this.#options;
    const seal = broker !== undefined && 'url' in broker && !broker.address.private;
    // Only here: what draws their displays takes a tenth of a second to load.
    const { startSims } = await import('./sims.js');
    const sims = await startSims({
      book: parts.book,
      folder: parts.home.path('sims'),
      choices,
      broker: { url: `${place.tls ? 'mqtts' : 'mqtt'}://${place.host}:${place.port}`, seal },
      log: this.#log,
    });
    this.#ends.push(() => sims.stop());
    return sims;
  }

  async #playOnAir(parts: Parts, ble: Ble, air: Air, choices: BoardChoice[]): Promise<Sims> {
    const { playOnAir } = await import('./ble-play.js');
    const sims = await playOnAir({
      air,
      pairer: ble.pairer,
      foreign: (this.#ble as BleBoards).foreign,
      book: parts.book,
      folder: parts.home.path('sims'),
      choices,
      unpaired: this.#options.ble?.unpaired === true,
      clock: this.#clock,
      log: this.#log,
    });
    this.#ends.push(() => sims.stop());
    return sims;
  }

  /** A board that was removed from the book is taken off everything that knew it. */
  async #forget(boardId: BoardId): Promise<void> {
    await this.#sims?.remove(boardId);
    await this.#ble?.forget(boardId);
    await this.#broker?.forget(boardId);
    await this.#gateway?.forget(boardId);
    const journal = this.#parts?.journal;
    const deviceId = journal?.get('device', boardId);
    if (journal === undefined || deviceId === undefined) return;
    try {
      await this.#hub?.removeDevice(deviceId);
    } catch (error) {
      throw new CliError(
        'still_on_hub',
        'The board was removed here, but the hub could not be told; revoke it there as well.',
        undefined,
        { cause: error instanceof Error ? error.message : 'unknown' },
      );
    }
    await journal.put('device', boardId, undefined);
  }

  /** Callable means that the hub itself calls them online. */
  async #simsReady(ms: number): Promise<boolean> {
    const deadline = this.#clock.now() + ms;
    for (;;) {
      if (await this.#simsOnline()) return true;
      if (this.#clock.now() > deadline) return false;
      await new Promise<void>((done) => this.#clock.after(POLL_MS, done));
    }
  }

  async #simsOnline(): Promise<boolean> {
    const ids = (this.#sims?.ids ?? []).map((id) => this.#parts?.journal.get('device', id));
    if (ids.includes(undefined)) return false;
    const devices = (await this.#hub?.devices().catch(() => [])) ?? [];
    const online = new Set(devices.filter((d) => d.online === true).map((d) => d.id));
    return ids.every((id) => id !== undefined && online.has(id));
  }

  /** In the reverse order of their beginning; one that fails does not keep the others. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        this.#log('a part did not end well', { error: String(error) });
      }
    }
  }
}
