#!/usr/bin/env node
import { processIo } from './io.js';
import { run } from './run.js';

// A reader that went away (`motebridge watch | head`) is an ordinary end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

process.exitCode = await run(process.argv.slice(2), processIo());
// Nothing is left to do: a socket that some library still holds must not keep the process.
setTimeout(() => process.exit(), 250).unref();
