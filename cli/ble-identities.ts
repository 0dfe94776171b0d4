/** Who the simulated boards on a virtual air are, kept from one run to the next. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { MODELS } from '../device-sim/index.js';
import { spokenBoardId } from '../gateway/links/ble/spoken-board.js';
import { keptFile } from './kept-file.js';

/** Of other makers; each is the name of the profile that speaks for it. */
export const FOREIGN_KINDS = ['necklace', 'bthome'] as const;
export type ForeignKind = (typeof FOREIGN_KINDS)[number];

const identity = z.object({
  kind: z.enum([...MODELS, ...FOREIGN_KINDS]),
  name: z.string(),
  /** 16 hex digits; another maker's board has what the gateway derives of its address. */
  boardId: z.string().regex(/^[0-9a-f]{16}$/),
  address: z.string().regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/),
  /** Of a sensor that encrypts: 32 hex digits. Secret. */
  bindKey: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
});
export type Identity = z.infer<typeof identity>;
export type BleSimKind = Identity['kind'];

export interface Identities {
  /** One for each choice, that of last time where there is one. New ones are kept when it returns. */
  of(choices: readonly { kind: BleSimKind; name: string }[]): Identity[];
  forget(boardId: string): void;
}

/** Kept in `file`. What it says rejects with CliError `home_unreadable` where that is broken. */
export function openIdentities(file: string): Identities {
  const kept = keptFile(file, z.object({ boards: z.array(identity) }));
  const all = (): Identity[] => kept.read()?.boards ?? [];
  return {
    of(choices) {
      const boards = all();
      const before = boards.length;
      const chosen = choices.map(({ kind, name }) => {
        const old = boards.find((each) => each.kind === kind && each.name === name);
        if (old) return old;
        const made = newIdentity(kind, name);
        boards.push(made);
        return made;
      });
      if (boards.length > before) kept.write({ boards });
      return chosen;
    },
    forget(boardId) {
      kept.write({ boards: all().filter((each) => each.boardId !== boardId) });
    },
  };
}

function newIdentity(kind: BleSimKind, name: string): Identity {
  const address = newAddress();
  const foreign = isForeign(kind);
  return {
    kind,
    name,
    boardId: foreign ? spokenBoardId(kind, address) : randomBytes(8).toString('hex'),
    address,
    ...(kind === 'bthome' ? { bindKey: randomBytes(16).toString('hex') } : {}),
  };
}

export function isForeign(kind: BleSimKind): kind is ForeignKind {
  return FOREIGN_KINDS.some((each) => each === kind);
}

/** A static random one: its two highest bits are set (Core 5.4, Vol 6 Part B 1.3.2.1). */
function newAddress(): string {
  const bytes = randomBytes(6);
  bytes[0] = (bytes[0] ?? 0) | 0xc0;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}
