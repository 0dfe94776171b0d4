import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { fileStore } from './flash.js';

const folder = mkdtempSync(join(tmpdir(), 'mote-flash-'));
const file = join(folder, 'board.json');
afterEach(() => rmSync(file, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the flash of a simulated board', () => {
  it('begins with nothing, and keeps all that it is given', () => {
    const flash = {
      bootId: 7,
      secret: new Uint8Array(16).fill(1),
      key: new Uint8Array(16).fill(2),
      burnt: true,
      next: new Uint8Array(16).fill(3),
    };
    expect(fileStore(file).load()).toEqual({ bootId: 0 });
    fileStore(file).save(flash);
    expect(fileStore(file).load()).toEqual(flash);
    fileStore(file).save({ bootId: 8 });
    expect(fileStore(file).load()).toEqual({ bootId: 8 });
  });

  it('is read by its owner alone', () => {
    fileStore(file).save({ bootId: 1 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('of an older version is read, and one that is broken is not taken for an empty one', () => {
    writeFileSync(file, '{"bootId":3}');
    expect(fileStore(file).load()).toEqual({ bootId: 3 });
    for (const text of ['', '{"bootId":-1}', '{"bootId":1,"key":"AAAA"}', '[]']) {
      writeFileSync(file, text);
      expect(() => fileStore(file).load()).toThrow();
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });
});
