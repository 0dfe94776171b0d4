/** The simulated boards of other makers: what each keeps, and what plays it. */
import { z } from 'zod';
import {
  type BoardClock,
  type BthomeSensor,
  bthomeSensor,
  type Peripheral,
  type SimNecklace,
  simNecklace,
} from '../device-sim/index.js';
import { fromHex } from '../protocol/identity.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import type { Identity } from './ble-identities.js';
import { keptFile } from './kept-file.js';

export interface ForeignInput {
  is: Identity;
  peripheral: Peripheral;
  clock: BoardClock;
  /** Where it keeps its few bytes. */
  flash: string;
  onTrouble(why: string): void;
}

const text = z.string().optional();
const written = z.object({ ssid: text, key: text, device_id: text, token: text, name: text });
const counted = z.object({ counter: z.number().int().min(0) });

/** A sensor's memory is read here: throws CliError `home_unreadable`. */
export function foreignBoard(input: ForeignInput): SimNecklace | BthomeSensor {
  const { is, flash, peripheral, clock, onTrouble } = input;
  const common = { peripheral, clock, onTrouble, name: is.name, random: Math.random };
  if (is.kind === 'necklace') {
    const kept = keptFile(flash, written);
    // A broken file is told of before it is played.
    kept.read();
    const store = {
      load: () => defined(kept.read() ?? {}),
      save: (fields: object) => kept.write({ ...fields }),
    };
    return simNecklace({ ...common, store });
  }
  if (is.bindKey === undefined) return bthomeSensor(common);
  const kept = keptFile(flash, counted);
  const counter = {
    load: () => kept.read()?.counter ?? 0,
    save: (next: number) => kept.write({ counter: next }),
  };
  const { address } = is;
  const lock = { bindKey: fromHex(is.bindKey), address, counter, ccm: nodeCcm };
  return bthomeSensor({ ...common, lock });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(object: T): Defined<T> {
  const pairs = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(pairs) as Defined<T>;
}
