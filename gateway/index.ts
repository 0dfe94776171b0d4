/** The gateway's core: the same on a Raspberry Pi and in a phone's browser. */
export * from './core/blob-store.js';
export * from './core/gateway.js';
export * from './core/journal.js';
export * from './core/limits.js';
export * from './core/memory-journal.js';
export type * from './core/types.js';
