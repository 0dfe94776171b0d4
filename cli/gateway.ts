/** The gateway of a process with what it keeps on disk, and the door through which its hub reaches it. */
import type { BlobStore } from '../gateway/core/blob-store.js';
import { neededBlobs } from '../gateway/core/needed-blobs.js';
import { secureSession } from '../gateway/core/secure.js';
import type { Clock } from '../gateway/core/types.js';
import { createRelayDoor, type RelayDoor } from '../gateway/doors/relay/index.js';
import { createGateway, type Gateway } from '../gateway/index.js';
import type { Link } from '../gateway/links/link.js';
import { openBlobStore } from '../gateway/node/blobs.js';
import { httpFetch } from '../gateway/node/http-fetch.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import type { BleBoards } from './ble.js';
import type { OwnHub } from './own-hub.js';
import type { Parts } from './parts.js';
import type { Between, StackOptions } from './stack-types.js';

export interface GatewayInput {
  parts: Parts;
  /** The hub, with the owner's token there. */
  target: { url: string; token: string };
  /** Where the hub is this process's own. */
  own: OwnHub | undefined;
  ble: BleBoards | undefined;
  /** Those that there will be: their health is told to the hub. */
  links: readonly Link[];
  between: Between | undefined;
  clock: Clock;
  log: NonNullable<StackOptions['log']>;
  /** What ends each part goes here, in the order they began. */
  ends: (() => Promise<void> | void)[];
}

export async function openGateway(
  input: GatewayInput,
): Promise<{ gateway: Gateway; door: RelayDoor; blobs: BlobStore }> {
  const { parts, target, own, ble, links, between, clock, log, ends } = input;
  const journal = between?.journal?.(parts.journal) ?? parts.journal;
  const blobs = await openBlobStore(parts.home.path('blobs'), {
    needed: () => neededBlobs(journal),
  });
  const notKept = (error: unknown): void =>
    log('the key of a board was not kept', { error: String(error) });
  const gateway = createGateway({
    clock,
    journal,
    blobs,
    keyOf: async (boardId) => (ble ? ble.keys.keyOf(boardId) : parts.book.key(boardId)),
    verified: (boardId) => void ble?.verified(boardId).catch(notKept),
    secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
    log,
  });
  ends.push(() => gateway.stop());
  const http = httpFetch();
  ends.push(() => http.close());
  const handover = ble?.handover({ gateway, journal, clock, hub: () => door.handovers, log });
  const door = createRelayDoor({
    fetch: between?.fetch?.(http.fetch) ?? http.fetch,
    switchboard: gateway,
    journal,
    blobs,
    clock,
    random: Math.random,
    links: () => links.map((link) => link.health()),
    hub: {
      url: target.url,
      ...(own === undefined ? { ownerToken: target.token } : { gatewayToken: own.gatewayToken }),
    },
    ...(handover === undefined ? {} : { handover }),
    log,
  });
  ends.push(() => {
    handover?.stop();
    door.stop();
  });
  return { gateway, door, blobs };
}
