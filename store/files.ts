/** Files that must be whole or absent after a crash. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes a rename or a new name durable. Some systems can't open a folder; there it is a no-op. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  if (!handle) return;
  try {
    await handle.sync();
  } catch {
    // Not on this system.
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder and those above it, for their owner alone. Node's own recursive mkdir spins for
 * ever where a file system answers ENOENT to every new name, as /proc does.
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((await stat(folder).catch(() => undefined))?.isDirectory()) return;
    const above = dirname(folder);
    const missing = (await stat(above).catch(() => undefined)) === undefined;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !missing || above === folder) {
      throw error;
    }
    await makeFolder(above);
    await mkdir(folder, { mode: 0o700 });
  }
}

async function writeAside(file: string, content: string | Uint8Array): Promise<string> {
  const aside = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  const handle = await open(aside, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return aside;
}

/** Replaces `file` at once, readable by its owner only. */
export async function replaceFile(file: string, content: string | Uint8Array): Promise<void> {
  const aside = await writeAside(file, content);
  try {
    await rename(aside, file);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Makes `file` with its whole content; false, and nothing done, if there is one already. */
export async function createFile(file: string, content: string | Uint8Array): Promise<boolean> {
  const aside = await writeAside(file, content);
  try {
    await link(aside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(aside, { force: true });
  }
  await syncFolder(dirname(file));
  return true;
}
