/**
 * One process for each data folder. The lock is SQLite's on a file of its own, which the system
 * takes back by itself when the process dies.
 */
import { join } from 'node:path';
import { StoreUnavailable, storeError } from '../store/errors.js';
import { findEngine } from '../store/sqlite.js';
import { CliError } from './fault.js';
import { makeHome } from './home.js';

/** Answers what lets it go. Throws `home_in_use` where another process has it. */
export async function lockHome(home: string): Promise<() => void> {
  makeHome(home);
  const engine = await findEngine();
  let close = (): void => {};
  try {
    const lock = engine.open(join(home, 'lock.db'));
    close = () => lock.close();
    lock.exec('PRAGMA busy_timeout = 0');
    lock.exec('BEGIN EXCLUSIVE');
    return close;
  } catch (error) {
    close();
    const cause = storeError(error);
    if (cause instanceof StoreUnavailable && cause.fault === 'locked') {
      throw new CliError(
        'home_in_use',
        `Another Motebridge runs in ${home}; stop it, or give this one another folder with --home.`,
      );
    }
    if (cause instanceof StoreUnavailable) {
      throw new CliError('home_unwritable', `${home} can't be used: ${cause.message}`);
    }
    throw error;
  }
}
