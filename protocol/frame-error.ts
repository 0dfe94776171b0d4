/** Why bytes, a message or a catalog could not be taken; one code per cause. */
export type FrameErrorCode =
  /** More bytes than the limit that the caller gave. */
  | 'too_large'
  /** The bytes end inside an item, or a length says more than the bytes left. */
  | 'truncated'
  | 'trailing_bytes'
  /** An indefinite length, or a break. */
  | 'indefinite'
  /** A length or integer that fits a shorter head. */
  | 'long_head'
  /** A head that CBOR reserves. */
  | 'bad_head'
  | 'tag'
  /** `undefined` and every simple value other than false, true and null. */
  | 'simple_value'
  /** A float that fits fewer bits, or a NaN other than f97e00. */
  | 'float_form'
  /** An integer outside ±(2^53−1). */
  | 'integer_range'
  | 'bad_utf8'
  /** More than 8 levels of arrays and maps. */
  | 'too_deep'
  /** A map of more than 1,024 keys, or more than 8,192 arrays and maps. */
  | 'too_many'
  | 'duplicate_key'
  /** `__proto__`, or a key that starts with a byte order mark. */
  | 'unsafe_key'
  /** Keys that are not all unsigned integers or all text. */
  | 'key_type'
  /** Not an array that starts with an unsigned integer. */
  | 'not_a_message'
  /** A message id that this version doesn't know (`id` says which). */
  | 'unknown_type'
  | 'missing_field'
  | 'bad_field'
  /** A frame whose first byte is not 0, 1 or 2. */
  | 'bad_seal'
  /** A JavaScript value that has no form in the profile (a Date, a lone surrogate, …). */
  | 'unencodable'
  /** JSON that does not describe a message. */
  | 'bad_json'
  /** CAPS pages that don't make a catalog. */
  | 'bad_catalog';

export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly code: FrameErrorCode;
  /** Where the item at fault begins, in bytes from the start. */
  readonly offset: number | undefined;
  /** The message's id, where it was read. */
  readonly id: number | undefined;

  constructor(code: FrameErrorCode, message: string, at: { offset?: number; id?: number } = {}) {
    super(message);
    this.code = code;
    this.offset = at.offset;
    this.id = at.id;
  }
}
