/** What `owners …` can ask of this machine's own hub, whether a process runs or not. */
import { z } from 'zod';
import type { Hub } from '../hub/index.js';
import { CliError, EXIT, usage } from './fault.js';

export const ownerRequest = z.discriminatedUnion('op', [
  z.object({ op: z.literal('list') }),
  z.object({ op: z.literal('add'), name: z.string().max(256) }),
  z.object({ op: z.literal('remove'), owner: z.string().max(256) }),
]);
export type OwnerRequest = z.infer<typeof ownerRequest>;

/** `created_at` is unix seconds; `devices` counts the live ones. */
export const ownerShape = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.number(),
  devices: z.number(),
});
export type OwnerShown = z.infer<typeof ownerShape>;
/** `token` is told here and never again. */
export const madeShape = z.object({ id: z.string(), name: z.string(), token: z.string() });

/** Answers owners to list, the new owner with its token to add, the owner that is gone to remove. */
export interface OwnerAdmin {
  ask(request: OwnerRequest): Promise<unknown>;
}

const NAME = 64;

export function hubOwners(hub: Hub): OwnerAdmin {
  return {
    async ask(request) {
      const all: OwnerShown[] = hub.describeOwners();
      if (request.op === 'list') return all;
      if (request.op === 'remove') {
        const owner = find(all, request.owner);
        if (owner.id === all[0]?.id) {
          throw new CliError(
            'first_owner',
            `${owner.name} is the owner whose boards this machine speaks for; nothing was removed. Stop Motebridge and use another --home to begin anew.`,
            EXIT.refused,
          );
        }
        await hub.removeOwner(owner.id);
        return owner;
      }
      const name = request.name.trim();
      if (name === '' || [...name].length > NAME) {
        throw usage(`An owner's name has 1 to ${NAME} characters.`);
      }
      if (all.some((owner) => owner.name === name)) {
        throw new CliError(
          'name_taken',
          `There is an owner ${name} already; nothing was added, choose another name.`,
          EXIT.refused,
        );
      }
      const { ownerId, token } = await hub.createOwner(name);
      return { id: ownerId, name, token };
    },
  };
}

function find(all: OwnerShown[], wanted: string): OwnerShown {
  const found = all.filter((owner) => owner.id === wanted || owner.name === wanted);
  const [owner] = found;
  if (owner !== undefined && found.length === 1) return owner;
  if (owner !== undefined) throw usage(`More than one owner is called ${wanted}; give an id.`);
  throw new CliError(
    'unknown_owner',
    `There is no owner ${wanted}; \`motebridge owners list\` shows them.`,
    EXIT.refused,
  );
}

/** Where `start --hub` uses a hub elsewhere: its owners are that hub's business. */
export const noOwners: OwnerAdmin = {
  ask: () =>
    Promise.reject(
      new CliError(
        'no_own_hub',
        'The running Motebridge uses a hub elsewhere, which keeps its own owners; nothing was done.',
        EXIT.refused,
      ),
    ),
};
