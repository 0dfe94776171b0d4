/** What the figures were measured on. */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  node: string;
  cores: number;
  cpu: string;
  memoryGb: number;
  /** The load of the last minute before anything ran: others' work falls on every figure. */
  load: number;
  /** Open files that one process may have. */
  openFiles: number | undefined;
  words: string;
}

/** Undefined where there is no `ulimit`. */
export function openFiles(): number | undefined {
  try {
    const said = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
    return said === 'unlimited' ? Number.POSITIVE_INFINITY : Number.parseInt(said, 10);
  } catch {
    return undefined;
  }
}

export function machine(): Machine {
  const facts = {
    node: process.version,
    cores: cpus().length,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    openFiles: openFiles(),
  };
  const words = `Node ${facts.node}, ${facts.cores} cores (${facts.cpu}), ${facts.memoryGb} GB, load ${facts.load}, ${facts.openFiles ?? 'an unknown number of'} open files a process`;
  return { ...facts, words };
}
