/** `boards …` and `owners …` while nothing runs: the data folder itself, opened for a moment. */
import { createHub } from '../hub/index.js';
import { type AdminRequest, bookAdmin } from './board-admin.js';
import { BROKER_PORT } from './commands/ports.js';
import { hubOwners, type OwnerRequest } from './owner-admin.js';
import { openParts } from './parts.js';

/** Where boards find the broker that a later `start` opens, when it is not told otherwise. */
const DEFAULT_PLACE = { host: '127.0.0.1', port: BROKER_PORT, tls: false } as const;

export async function askHome(home: string, request: AdminRequest): Promise<unknown> {
  const parts = await openParts(home);
  try {
    return await bookAdmin(parts.book, () => DEFAULT_PLACE).ask(request);
  } finally {
    await parts.close();
  }
}

export async function askHomeOwners(home: string, request: OwnerRequest): Promise<unknown> {
  const parts = await openParts(home);
  try {
    const hub = await createHub({ home: parts.home.folder });
    try {
      // Whoever is added must not become the owner that `start` works for.
      await hub.bootstrap();
      return await hubOwners(hub).ask(request);
    } finally {
      await hub.close();
    }
  } finally {
    await parts.close();
  }
}
