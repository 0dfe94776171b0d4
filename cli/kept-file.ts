/** A small JSON file of its owner's, such as what a simulated board keeps in its flash. */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { CliError, systemCode } from './fault.js';

export interface KeptFile<T> {
  /** Undefined where there is none. @throws CliError `home_unreadable` for one that is broken. */
  read(): T | undefined;
  /** On the disk when it returns, whole or not at all. */
  write(value: Record<string, unknown>): void;
  remove(): void;
}

export function keptFile<T>(file: string, schema: z.ZodType<T>): KeptFile<T> {
  return {
    read() {
      let text: string;
      try {
        text = readFileSync(file, 'utf8');
      } catch (error) {
        const code = systemCode(error);
        if (code === 'ENOENT') return undefined;
        throw unreadable(`${file} can't be read (${code})`);
      }
      try {
        return schema.parse(JSON.parse(text));
      } catch {
        throw unreadable(`${file} isn't what a simulated board wrote`);
      }
    },
    write(value) {
      const temporary = `${file}.part`;
      write(temporary, JSON.stringify(value));
      renameSync(temporary, file);
      // A rename is durable with its folder: a board must not forget that its secret is burnt.
      sync(dirname(file));
    },
    remove() {
      rmSync(file, { force: true });
    },
  };
}

function unreadable(what: string): CliError {
  const next = 'Move it away to begin with new ones, or run this as the user who made it.';
  return new CliError('home_unreadable', `${what}; no simulated board was started. ${next}`);
}

function write(file: string, text: string): void {
  const handle = openSync(file, 'w', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function sync(folder: string): void {
  // Windows opens no folders.
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
