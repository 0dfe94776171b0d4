/** How names of devices are looked up. */
import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a name. Rejects with an error that has a `code`; aborting ends the search. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

const TIMEOUT_MS = 3_000;
const TRIES = 2;

/**
 * By DNS alone, and of that name alone: no file of this machine and no domain that it searches in
 * has a say. The system's own look-up would also hold one of the few threads that the hub's files
 * are read with for as long as a stranger's name server pleases.
 */
export function byDns(servers?: readonly string[]): Resolve {
  return async (name, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    const stop = (): void => resolver.cancel();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      if (addresses.length > 0) return addresses;
      throw failure(found.map((one) => (one.status === 'rejected' ? codeOf(one.reason) : '')));
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

/** As this machine does it: for hosts that its owner named, which may stand in no DNS. */
export const bySystem: Resolve = async (name) =>
  (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);

const codeOf = (error: unknown): string =>
  error instanceof Object && 'code' in error ? String(error.code) : '';

const NO_SUCH_NAME = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];

/** One of `getaddrinfo`'s own codes, whatever the server said. */
function failure(codes: readonly string[]): Error {
  const unknown = codes.every((code) => NO_SUCH_NAME.includes(code));
  const code = unknown ? 'ENOTFOUND' : codes.includes('ECANCELLED') ? 'ECANCELLED' : 'EAI_AGAIN';
  return Object.assign(new Error('the name could not be looked up'), { code });
}
