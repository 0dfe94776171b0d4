/**
 * What noble does not do by itself and can only be mended from inside. Everything here is private
 * to the library: each reach is optional, and without it the port still works, less guarded.
 */
import type { NobleLike } from './noble-types.js';

interface Socket {
  listeners(event: 'data'): ((data: unknown) => void)[];
  on(event: 'data', run: (data: unknown) => void): void;
  removeListener(event: 'data', run: (data: unknown) => void): void;
  stop?(): void;
}
interface Hci {
  onSocketData?(data: unknown): void;
  pollIsDevUp?(): void;
  reset?(): void;
  _socket?: Socket;
}
interface Bindings {
  _hci?: Hci | null;
  _gap?: { _discoveries?: Record<string, unknown> } | null;
  _addresses?: Record<string, unknown>;
  _addresseTypes?: Record<string, unknown>;
  _connectable?: Record<string, unknown>;
  scannable?: Record<string, unknown>;
  _isScanning?: boolean;
  _isScanningStarted?: boolean;
  init?(): void;
  start?(): void;
  stop?(): void;
}
interface Inside {
  _bindings?: Bindings;
  _peripherals?: Map<string, unknown> | Record<string, unknown>;
  _discoveredPeripherals?: Set<string>;
  _discoveredPeripheralUUids?: Record<string, unknown>;
  _services?: Record<string, unknown>;
  _characteristics?: Record<string, unknown>;
  _descriptors?: Record<string, unknown>;
}

const guarded = new WeakSet<Hci>();

function inside(noble: NobleLike): Inside {
  return noble as unknown as Inside;
}

/**
 * Keeps a malformed packet of the air from ending the process: noble parses inside the socket's
 * event and throws there (an empty TX power field, a short MTU answer). The packet is dropped and
 * `bad` is told. Call it when the library has started.
 */
export function guardSocket(noble: NobleLike, bad: (error: unknown) => void): void {
  const hci = inside(noble)._bindings?._hci;
  if (!hci || guarded.has(hci)) return;
  guarded.add(hci);
  const guard =
    (run: (data: unknown) => void) =>
    (data: unknown): void => {
      try {
        run(data);
      } catch (error) {
        bad(error);
      }
    };
  // The library binds this method anew when the adapter comes back.
  if (hci.onSocketData) hci.onSocketData = guard(hci.onSocketData.bind(hci));
  const socket = hci._socket;
  for (const run of socket?.listeners('data') ?? []) {
    socket?.removeListener('data', run);
    socket?.on('data', guard(run));
  }
}

/** Noble remembers every address it ever heard; this makes it forget one. */
export function forgetPeripheral(noble: NobleLike, peripheral: { id: string; address: string }) {
  const { id, address } = peripheral;
  const library = inside(noble);
  if (library._peripherals instanceof Map) library._peripherals.delete(id);
  else delete library._peripherals?.[id];
  library._discoveredPeripherals?.delete(id);
  const { _bindings: bindings } = library;
  for (const table of [
    library._discoveredPeripheralUUids,
    library._services,
    library._characteristics,
    library._descriptors,
    bindings?._addresses,
    bindings?._addresseTypes,
    bindings?._connectable,
    bindings?.scannable,
  ]) {
    delete table?.[id];
  }
  delete bindings?._gap?._discoveries?.[address];
}

/** Resets the controller, or looks for one anew where there was none. Links must be closed. */
export function resetNoble(noble: NobleLike, present: boolean): void {
  const bindings = inside(noble)._bindings;
  if (bindings) {
    // What the library believes about its scan does not survive a reset.
    if (bindings._isScanning !== undefined) bindings._isScanning = false;
    if (bindings._isScanningStarted !== undefined) bindings._isScanningStarted = false;
  }
  const again = bindings?.start ?? bindings?.init;
  if (!present && again) {
    if (bindings?._hci) bindings.stop?.();
    again.call(bindings);
  } else if (bindings?._hci?.reset) bindings._hci.reset();
  else noble.reset?.();
}

/** Lets go of the adapter, so that the process can end. */
export function stopNoble(noble: NobleLike): void {
  if (noble.stop) {
    noble.stop();
    return;
  }
  const hci = inside(noble)._bindings?._hci;
  if (hci?.pollIsDevUp) hci.pollIsDevUp = () => {};
  hci?._socket?.stop?.();
}
