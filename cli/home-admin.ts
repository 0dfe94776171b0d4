/** `boards …` while nothing runs: the same book, opened in the data folder for a moment. */
import type { AdminRequest } from './board-admin.js';

export async function askHome(_home: string, _request: AdminRequest): Promise<unknown> {
  throw new Error('not built yet');
}
