/** What a microphone that hears a tone would record: mono PCM in a WAV file. */

/** Samples a second, 16 bits each: what small boards record speech with. */
export const SAMPLE_RATE = 8_000;
const HEADER = 44;
/** Of full scale. */
const LOUDNESS = 0.4;
/** Seconds of rise and fall, so that it does not click. */
const EDGE_S = 0.02;

/** A tone of `hz` for `seconds`, with its overtone. */
export function toneWav(hz: number, seconds: number): Uint8Array {
  const count = Math.round(SAMPLE_RATE * seconds);
  const bytes = new Uint8Array(HEADER + 2 * count);
  const view = new DataView(bytes.buffer);
  const words = (at: number, text: string): void => {
    for (let i = 0; i < text.length; i++) view.setUint8(at + i, text.charCodeAt(i));
  };
  words(0, 'RIFF');
  view.setUint32(4, bytes.length - 8, true);
  words(8, 'WAVEfmt ');
  view.setUint32(16, 16, true); // bytes of the format that follows
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, SAMPLE_RATE, true);
  view.setUint32(28, 2 * SAMPLE_RATE, true); // bytes a second
  view.setUint16(32, 2, true); // bytes a sample
  view.setUint16(34, 16, true); // bits a sample
  words(36, 'data');
  view.setUint32(40, 2 * count, true);
  for (let i = 0; i < count; i++) {
    const t = i / SAMPLE_RATE;
    const edge = Math.min(1, t / EDGE_S, (seconds - t) / EDGE_S);
    const wave = Math.sin(2 * Math.PI * hz * t) + 0.2 * Math.sin(4 * Math.PI * hz * t);
    view.setInt16(HEADER + 2 * i, Math.round(32_767 * LOUDNESS * edge * wave), true);
  }
  return bytes;
}
