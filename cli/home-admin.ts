/** `boards …` while nothing runs: the same book, opened in the data folder for a moment. */
import { type AdminRequest, bookAdmin } from './board-admin.js';
import { BROKER_PORT } from './commands/ports.js';
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
