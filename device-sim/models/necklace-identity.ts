/** What is written into a necklace, put together, judged and kept (wire part B1). Nothing throws. */
import type { NecklaceKind, NecklaceVerdict } from '../../protocol/necklace.js';

const NAMES = ['ssid', 'key', 'device_id', 'token', 'name'] as const;
export type IdentityFields = { readonly [name in (typeof NAMES)[number]]?: string };

/** What it needs to be complete: only those with a camera go online by themselves. */
const NEEDED = {
  vision: ['ssid', 'key', 'device_id', 'token'],
  voice: ['device_id', 'token'],
} as const;

/** Secret. `save` is durable when it returns. */
export interface NecklaceFlash {
  load(): IdentityFields;
  save(fields: IdentityFields): void;
}

export interface WriterOptions {
  readonly kind: NecklaceKind;
  readonly store: NecklaceFlash;
  /** Bytes of a line with its newline. */
  readonly most: number;
}

const NEWLINE = 10;

export class IdentityWriter {
  readonly #options: WriterOptions;
  #kept: number[] = [];
  #skipping = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get complete(): boolean {
    return missing(this.#options).length === 0;
  }

  /** What was begun is void: the connection ended. */
  reset(): void {
    this.#kept = [];
    this.#skipping = false;
  }

  /** One packet; a verdict for each line that ends in it, and for one that became too long. */
  push(bytes: Uint8Array): NecklaceVerdict[] {
    const verdicts: NecklaceVerdict[] = [];
    for (const byte of bytes) {
      if (byte === NEWLINE) {
        const line = Uint8Array.from(this.#kept);
        if (!this.#skipping && line.length > 0) verdicts.push(this.#judge(line));
        this.reset();
      } else if (!this.#skipping) {
        this.#kept.push(byte);
        if (this.#kept.length < this.#options.most) continue;
        this.#kept = [];
        this.#skipping = true;
        verdicts.push(this.#refused('too_long'));
      }
    }
    return verdicts;
  }

  #judge(line: Uint8Array): NecklaceVerdict {
    const fields = fieldsOf(line);
    if (typeof fields === 'string') return this.#refused(fields);
    const { store } = this.#options;
    try {
      store.save({ ...store.load(), ...fields });
    } catch {
      return this.#refused('not_stored');
    }
    const left = missing(this.#options);
    return { ok: true, complete: left.length === 0, missing: left };
  }

  #refused(error: string): NecklaceVerdict {
    return { ok: false, complete: this.complete, missing: missing(this.#options), error };
  }
}

function missing({ kind, store }: WriterOptions): string[] {
  const fields = store.load();
  return NEEDED[kind].filter((name) => !fields[name]);
}

/** Fields that it knows, all of them texts; or why there are none. */
function fieldsOf(line: Uint8Array): IdentityFields | 'bad_json' | 'bad_field' {
  let object: unknown;
  try {
    object = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch {
    return 'bad_json';
  }
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return 'bad_json';
  const known = NAMES.filter((name) => Object.hasOwn(object, name));
  const pairs = known.map((name) => [name, (object as Record<string, unknown>)[name]] as const);
  if (pairs.some(([, value]) => typeof value !== 'string')) return 'bad_field';
  return Object.fromEntries(pairs) as IdentityFields;
}
