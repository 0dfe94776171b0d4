/**
 * How noble and bleno get a virtual controller in place of the machine's adapter. Their HCI code
 * asks one module for its socket class; the place of that module in Node's cache is taken before
 * they load, so that nothing native is needed and nothing of theirs is changed. Each instance
 * that is made here gets a controller of its own; any other gets a socket without an adapter.
 *
 * One process holds one kind: after this, these packages reach no real adapter in it.
 */
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { Air } from './air.js';
import { type ControllerOptions, VirtualController } from './controller.js';
import { RadioUnavailable } from './unavailable.js';

export type NobleFork = 'abandonware' | 'stoprocent';

/** A controller as the libraries' HCI code wants its socket; theirs are the calls it must take. */
export interface HciSocket extends EventEmitter {
  isDevUp(): boolean;
  stop(): void;
  /** Called when `isDevUp` answers something else than before. */
  onPower: (() => void) | undefined;
}

export interface Virtual<T, C extends HciSocket = VirtualController> {
  /** The library's own object, started. */
  readonly instance: T;
  readonly controller: C;
  /** Lets go of the controller and of what the library hung on the process. */
  stop(): void;
}

/** What of an HCI object is reached into here. */
interface Hci {
  _isDevUp: boolean | null;
  pollIsDevUp(): void;
}

interface Library extends EventEmitter {
  _bindings: { _hci: Hci | null };
  state: string;
}

const load = createRequire(import.meta.url);
/** Controllers for the sockets that are made next. */
const waiting: HciSocket[] = [];

/** A socket without an adapter: for default instances and control channels. */
class IdleSocket extends EventEmitter {
  bindRaw(): number {
    return 0;
  }
  bindUser(): number {
    return 0;
  }
  bindControl(): void {}
  setFilter(): void {}
  start(): void {}
  stop(): void {}
  write(): void {}
  isDevUp(): boolean {
    return false;
  }
  getDeviceList(): unknown[] {
    return [];
  }
}

/** Stands for the socket class: `new` answers a controller that waits, or an idle socket. */
function Socket(): EventEmitter {
  return waiting.shift() ?? new IdleSocket();
}
Socket.loadDriver = (): typeof Socket => Socket;

function library(name: string, scope: NobleFork): unknown {
  let entry: string;
  try {
    entry = load.resolve(name);
  } catch (error) {
    throw new RadioUnavailable(
      `The package ${name} is not installed; no virtual radio was made. Install it with: npm install --ignore-scripts ${name}`,
      { cause: error },
    );
  }
  seat(entry, scope);
  return load(name);
}

/** Takes the place of the socket module that the package at `entry` will ask for. */
function seat(entry: string, scope: NobleFork): void {
  const name = `@${scope}/bluetooth-hci-socket`;
  let path: string;
  try {
    path = createRequire(entry).resolve(name);
  } catch (error) {
    throw new RadioUnavailable(
      `The package ${name} is not installed (it is optional to noble and bleno); no virtual radio was made. Install it with: npm install --ignore-scripts ${name}`,
      { cause: error },
    );
  }
  const there = load.cache[path];
  if (there?.exports === Socket) return;
  if (there) {
    throw new RadioUnavailable(
      `${name} was loaded for a real adapter in this process already; no virtual radio was made. Start the virtual one in a process of its own.`,
    );
  }
  const Module = load('node:module') as new (id: string) => NodeJS.Module;
  const module = new Module(path);
  module.filename = path;
  module.loaded = true;
  module.exports = Socket;
  load.cache[path] = module;
}

/**
 * A noble of its own on a controller of its own. Its state is not known yet: wait for
 * `stateChange`, as with a real one. @throws RadioUnavailable
 */
export function virtualNoble(
  air: Air,
  fork: NobleFork,
  options?: ControllerOptions,
): Virtual<EventEmitter> {
  return onAir(nobleOver(() => new VirtualController(air, options), fork));
}

/** A bleno of its own, that is one peripheral, on a controller of its own. @throws RadioUnavailable */
export function virtualBleno(air: Air, options?: ControllerOptions): Virtual<EventEmitter> {
  return onAir(blenoOver(() => new VirtualController(air, options)));
}

/** As `virtualNoble`, on any controller, which is up already. @throws RadioUnavailable */
export function nobleOver<C extends HciSocket>(
  controller: () => C,
  fork: NobleFork,
): Virtual<EventEmitter, C> {
  const name = `@${fork}/noble`;
  const noble = library(name, fork);
  const make = (): Library =>
    fork === 'stoprocent'
      ? (noble as { withBindings(kind: string, options: object): Library }).withBindings('hci', {
          userChannel: true,
        })
      : (load(`${name}/with-custom-binding`) as (options: object) => Library)({});
  return own(controller(), make, (made) => void made.state);
}

/** As `virtualBleno`, on any controller, which is up already. @throws RadioUnavailable */
export function blenoOver<C extends HciSocket>(controller: () => C): Virtual<EventEmitter, C> {
  const bleno = library('@stoprocent/bleno', 'stoprocent') as {
    withBindings(kind: string, options: object): Library;
  };
  // Its bindings start when somebody first listens for the state.
  const begin = (made: Library): void => void made.on('stateChange', () => undefined);
  return own(controller(), () => bleno.withBindings('hci', {}), begin);
}

function onAir(virtual: Virtual<EventEmitter>): Virtual<EventEmitter> {
  const { instance, controller, stop } = virtual;
  return {
    instance,
    controller,
    stop() {
      stop();
      controller.air.leave(controller);
    },
  };
}

function own<C extends HciSocket>(
  controller: C,
  make: () => Library,
  begin: (made: Library) => void,
): Virtual<EventEmitter, C> {
  const known = new Set<unknown>([...process.listeners('exit'), ...process.listeners('SIGINT')]);
  waiting.push(controller);
  let instance: Library;
  try {
    instance = make();
    const early = instance._bindings._hci;
    if (early) steady(early, controller);
    begin(instance);
    const hci = instance._bindings._hci;
    if (hci && hci !== early) steady(hci, controller);
  } finally {
    const left = waiting.indexOf(controller);
    if (left >= 0) waiting.splice(left, 1);
  }
  // An adapter must be left clean when the process ends; a virtual one ends with it.
  for (const run of process.listeners('exit')) if (!known.has(run)) process.off('exit', run);
  for (const run of process.listeners('SIGINT')) if (!known.has(run)) process.off('SIGINT', run);
  return {
    instance,
    controller,
    stop() {
      controller.onPower = undefined;
      controller.stop();
      controller.removeAllListeners();
    },
  };
}

/**
 * The libraries look every second whether their adapter is up, for ever. Here they look when it
 * changes, and no timer keeps the process.
 */
function steady(hci: Hci, controller: HciSocket): void {
  const look = hci.pollIsDevUp;
  const once = (): void => look.call(hci);
  // What their timer and their socket's listener would run is `pollIsDevUp.bind(this)`.
  Object.assign(once, { bind: () => () => undefined });
  hci.pollIsDevUp = once;
  controller.onPower = () => hci.pollIsDevUp();
}
