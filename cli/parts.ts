/** What the data folder holds of a gateway, opened together and closed together. */
import type { Journal } from '../gateway/core/journal.js';
import type { BoardId } from '../gateway/core/types.js';
import { type BoardBook, openBoardBook } from '../gateway/node/boards.js';
import { type Home, HomeUnavailable, openHome } from '../gateway/node/home.js';
import { openJournal } from '../gateway/node/journal.js';
import { openSecrets, type Secrets } from '../store/secrets.js';
import { CliError } from './fault.js';

export interface Parts {
  readonly home: Home;
  readonly journal: Journal;
  readonly secrets: Secrets;
  readonly book: BoardBook;
  close(): Promise<void>;
}

/** Locks the folder for this process. `forget` clears what runs of a board that is removed. */
export async function openParts(
  folder: string,
  forget: (boardId: BoardId) => Promise<void> = async () => undefined,
): Promise<Parts> {
  const home = await openHome(folder).catch((error) => {
    if (error instanceof HomeUnavailable) throw new CliError(error.code, error.message);
    throw error;
  });
  let journal: Journal | undefined;
  try {
    const secrets = await openSecrets(home.path('secrets.key'));
    const kept = await openJournal(home.path('journal.db'));
    journal = kept;
    return {
      home,
      journal,
      secrets,
      book: openBoardBook({ journal, secrets, forget }),
      async close() {
        await kept.close();
        await home.close();
      },
    };
  } catch (error) {
    await journal?.close();
    await home.close();
    throw error;
  }
}
