import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

/** It loads the machine by itself, so it runs when the others have ended. */
const KILL = 'test/kill/*.test.ts';

export default defineConfig({
  test: {
    // Most tests wait for sockets and disks, so a worker more than there are cores is no loss.
    maxWorkers: Math.max(3, Math.floor(availableParallelism() / 2)),
    testTimeout: 20_000,
    hookTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['{protocol,store,gateway,hub,device-sim,cli,test}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, KILL],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'kill', include: [KILL], sequence: { groupOrder: 1 } },
      },
    ],
  },
});
