import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{protocol,store,gateway,hub,device-sim,cli,test}/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
