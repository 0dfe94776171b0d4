import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{protocol,store,gateway,hub,device-sim,cli,test}/**/*.test.ts'],
    // Most tests wait for sockets and disks, so a worker more than there are cores is no loss.
    maxWorkers: Math.max(3, Math.floor(availableParallelism() / 2)),
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
