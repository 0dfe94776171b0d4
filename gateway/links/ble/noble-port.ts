/**
 * The adapter through noble, either fork, over an instance that is handed in. It waits for
 * nothing, repeats nothing and paces nothing (`port.ts`); it evens out what the forks do
 * differently, and bounds what noble remembers.
 */
import { notOn } from './adapter-words.js';
import { addressOf, advertisementOf, isOverfull } from './noble-advertisement.js';
import { forgetPeripheral, guardSocket, resetNoble, stopNoble } from './noble-inside.js';
import { failed, NoblePeer } from './noble-peer.js';
import type { NobleLike, NoblePeripheral } from './noble-types.js';
import { type AdapterState, type Advertisement, BleError, type BlePort } from './port.js';

export interface NoblePortOptions {
  /** Default: which fork it looks like. */
  name?: string;
  /** Faults that the library swallowed or would have thrown, by name. */
  count?: (name: string) => void;
}

/** ATT's own limit for one value is 512 bytes, so more than 515 is of no use; 517 is customary. */
const WANTED_MTU = 517;
/** What `@abandonware/noble` asks for, hard-coded. */
const ABANDONWARE_MTU = 256;
/** Devices heard that are remembered; an address of the air costs nothing to make up. */
const MAX_SEEN = 1_024;

const STATES: Readonly<Record<string, AdapterState>> = {
  poweredOn: 'on',
  poweredOff: 'off',
  resetting: 'off',
  unauthorized: 'unauthorized',
  unsupported: 'absent',
};

/** `no_slot` of HCI: memory capacity, connection limit, limited resources. */
const FULL = /\(0x(7|9|d)\)|connection limit|limited resources/i;

interface Attempt {
  resolve(peer: NoblePeer): void;
  reject(error: BleError): void;
}

export function noblePort(noble: NobleLike, options: NoblePortOptions = {}): BlePort {
  const stoprocent = 'waitForPoweredOnAsync' in noble;
  const count = options.count ?? (() => undefined);
  const mostMtu = stoprocent ? WANTED_MTU : ABANDONWARE_MTU;
  /** By address, the longest unheard first. */
  const seen = new Map<string, NoblePeripheral>();
  const known = new WeakSet<NoblePeripheral>();
  const attempts = new Map<NoblePeripheral, Attempt>();
  const peers = new Map<NoblePeripheral, NoblePeer>();
  const listeners = {
    state: [] as ((state: AdapterState) => void)[],
    scanStopped: [] as (() => void)[],
    advertisement: [] as ((advertisement: Advertisement) => void)[],
  };
  let scan: 'off' | 'starting' | 'on' | 'stopping' = 'off';
  let scanWaiters: (() => void)[] = [];
  let closed = false;
  let state = begin();

  function begin(): AdapterState {
    try {
      const first = STATES[noble.state] ?? 'unknown';
      guardSocket(noble, () => count('bad_packet'));
      return first;
    } catch (error) {
      return failureState(error);
    }
  }

  function become(next: AdapterState): void {
    if (closed || next === state) return;
    state = next;
    if (next !== 'on') {
      scan = 'off';
      release();
      for (const attempt of attempts.values()) attempt.reject(notOn(next));
      attempts.clear();
      // One fork says nothing of links that went with their adapter.
      for (const peer of peers.values()) peer.ended('the adapter went away');
      peers.clear();
      seen.clear();
    }
    for (const run of listeners.state) run(next);
  }

  function release(): void {
    const waiting = scanWaiters;
    scanWaiters = [];
    for (const run of waiting) run();
  }

  function sighted(peripheral: NoblePeripheral): void {
    if (closed) return;
    const address = addressOf(peripheral);
    seen.delete(address);
    seen.set(address, peripheral);
    if (seen.size > MAX_SEEN) forgetOldest();
    const advertisement = advertisementOf(address, peripheral);
    // Noble only ever adds to what it knows of a device: one that keeps inventing is begun anew.
    if (isOverfull(peripheral)) {
      count('overfull_advertisement');
      if (!inUse(peripheral)) forget(address, peripheral);
    }
    for (const run of listeners.advertisement) run(advertisement);
  }

  function inUse(peripheral: NoblePeripheral): boolean {
    return peers.has(peripheral) || attempts.has(peripheral);
  }

  function forget(address: string, peripheral: NoblePeripheral): void {
    seen.delete(address);
    forgetPeripheral(noble, peripheral);
  }

  function forgetOldest(): void {
    for (const [address, peripheral] of seen) {
      if (inUse(peripheral)) continue;
      forget(address, peripheral);
      return;
    }
  }

  /** Once per device: noble's own objects outlive their connections. */
  function attend(address: string, peripheral: NoblePeripheral): void {
    if (known.has(peripheral)) return;
    known.add(peripheral);
    peripheral.on('connect', (error) => {
      const attempt = attempts.get(peripheral);
      attempts.delete(peripheral);
      if (error) attempt?.reject(connectFailed(error));
      else if (attempt) {
        const peer = new NoblePeer(address, peripheral, mostMtu);
        peers.set(peripheral, peer);
        attempt.resolve(peer);
      } else if (!peers.has(peripheral)) {
        // Given up, and then it came all the same: nobody would ever close it.
        count('late_connection');
        end(peripheral);
      }
    });
    peripheral.on('disconnect', (reason) => {
      const peer = peers.get(peripheral);
      peers.delete(peripheral);
      const attempt = attempts.get(peripheral);
      attempts.delete(peripheral);
      peer?.ended(reason);
      attempt?.reject(new BleError('disconnected', `connecting to ${address} failed: it hung up`));
    });
  }

  function end(peripheral: NoblePeripheral): void {
    try {
      if (peripheral.state === 'connected') peripheral.disconnect();
    } catch {
      count('disconnect_failed');
    }
  }

  noble.removeAllListeners('warning');
  noble.on('warning', () => count('library_warning'));
  noble.on('stateChange', (next) => become(STATES[next] ?? 'unknown'));
  noble.on('discover', sighted);
  noble.on('scanStart', () => {
    if (scan === 'starting') {
      scan = 'on';
      release();
    }
  });
  noble.on('scanStop', () => {
    // While it starts, a raw socket echoes the library's own command to stop first.
    if (scan === 'starting') return;
    const before = scan;
    scan = 'off';
    release();
    if (before === 'on') for (const run of listeners.scanStopped) run();
  });

  return {
    name: options.name ?? (stoprocent ? 'stoprocent' : 'abandonware'),
    get state() {
      return state;
    },
    onState: (run) => void listeners.state.push(run),
    onScanStopped: (run) => void listeners.scanStopped.push(run),
    onAdvertisement: (run) => void listeners.advertisement.push(run),
    async startScan() {
      if (state !== 'on') throw notOn(state);
      if (scan === 'on') return;
      scan = 'starting';
      const started = new Promise<void>((resolve) => scanWaiters.push(resolve));
      noble.startScanning([], true);
      await started;
      if (state !== 'on') throw notOn(state);
    },
    async stopScan() {
      if (state !== 'on' || scan === 'off') return;
      scan = 'stopping';
      const stopped = new Promise<void>((resolve) => scanWaiters.push(resolve));
      noble.stopScanning();
      await stopped;
    },
    async connect(address) {
      if (state !== 'on') throw notOn(state);
      const peripheral = seen.get(address);
      if (!peripheral) {
        throw new BleError('failed', `${address} was not heard yet; wait until it advertises`);
      }
      attend(address, peripheral);
      if (inUse(peripheral) || peripheral.state === 'connected') {
        if (!inUse(peripheral)) end(peripheral);
        throw new BleError('failed', `${address} is connected already, or about to be`);
      }
      peripheral.mtu = null;
      return new Promise<NoblePeer>((resolve, reject) => {
        attempts.set(peripheral, { resolve, reject });
        try {
          peripheral.connect({ mtu: WANTED_MTU });
        } catch (error) {
          attempts.delete(peripheral);
          reject(connectFailed(error));
        }
      });
    },
    cancelConnect(address) {
      const peripheral = seen.get(address);
      const attempt = peripheral && attempts.get(peripheral);
      if (!peripheral || !attempt) return;
      attempts.delete(peripheral);
      attempt.reject(new BleError('failed', `connecting to ${address} was given up`));
      try {
        peripheral.cancelConnect();
      } catch {
        count('cancel_failed');
      }
    },
    async reset() {
      try {
        resetNoble(noble, state === 'on' || state === 'off');
        guardSocket(noble, () => count('bad_packet'));
      } catch (error) {
        become(failureState(error));
        throw failed('resetting the adapter', error);
      } finally {
        scan = 'off';
        release();
      }
    },
    async close() {
      if (closed) return;
      const live = [...peers.values()];
      for (const peripheral of peers.keys()) end(peripheral);
      become('off');
      closed = true;
      for (const peer of live) peer.ended('the link is closing');
      try {
        stopNoble(noble);
      } catch {
        count('stop_failed');
      }
    },
  };
}

function connectFailed(error: unknown): BleError {
  const why = error instanceof Error ? error.message : String(error);
  if (FULL.test(why)) {
    return new BleError(
      'no_slot',
      `the adapter takes no further connection (${why}); close one, or add an adapter`,
      { cause: error },
    );
  }
  return failed('connecting', error);
}

function failureState(error: unknown): AdapterState {
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  return code === 'EPERM' || /EPERM|not permitted/i.test(message ?? '') ? 'unauthorized' : 'absent';
}
