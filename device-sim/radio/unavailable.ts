/** The library, or the part of it that reaches adapters, is not there; the message says what to do. */
export class RadioUnavailable extends Error {
  override readonly name = 'RadioUnavailable';
}
