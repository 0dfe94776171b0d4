/** Through the running process of a data folder where there is one, else in the folder itself. */
import type { AdminRequest } from './board-admin.js';
import { askControl, ControlGone } from './control.js';
import { chooseHome, readCredentials } from './home.js';
import type { Io } from './io.js';
import type { OwnerRequest } from './owner-admin.js';
import { withProgress } from './progress.js';

export type Asked = { boards: AdminRequest } | { owners: OwnerRequest };

export async function askOwn(io: Io, flag: string | undefined, asked: Asked): Promise<unknown> {
  const home = chooseHome(io.env, flag).path;
  const control = readCredentials(home)?.control;
  const work = async (): Promise<unknown> => {
    if (control !== undefined) {
      try {
        return 'boards' in asked
          ? await askControl(control, 'boards', asked.boards)
          : await askControl(control, 'owners', asked.owners);
      } catch (error) {
        if (!(error instanceof ControlGone)) throw error;
      }
    }
    const { askHome, askHomeOwners } = await import('./home-admin.js');
    return 'boards' in asked ? askHome(home, asked.boards) : askHomeOwners(home, asked.owners);
  };
  return withProgress(io, 'one moment', work());
}
