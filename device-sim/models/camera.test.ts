import { createCanvas, loadImage } from '@napi-rs/canvas';
import { describe, expect, it } from 'vitest';
import { rig, turn } from '../testing/rig.js';

async function brightness(jpeg: Uint8Array): Promise<number> {
  const image = await loadImage(Buffer.from(jpeg));
  expect([image.width, image.height]).toEqual([640, 480]);
  const canvas = createCanvas(640, 400);
  canvas.getContext('2d').drawImage(image, 0, 0);
  const data = canvas.getContext('2d').getImageData(0, 0, 640, 400).data;
  let sum = 0;
  for (let i = 1; i < data.length; i += 4) sum += data[i] ?? 0;
  return sum / (data.length / 4);
}

/** Rising zero crossings a second; the header says what the samples are. */
function pitchOf(wav: Buffer, seconds: number): number {
  expect([wav.toString('latin1', 0, 4), wav.toString('latin1', 8, 16)]).toEqual([
    'RIFF',
    'WAVEfmt ',
  ]);
  expect([wav.readUInt32LE(24), wav.readUInt16LE(34), wav.readUInt16LE(22)]).toEqual([
    8_000, 16, 1,
  ]);
  expect([wav.readUInt32LE(4), wav.readUInt32LE(40)]).toEqual([wav.length - 8, wav.length - 44]);
  expect(wav.length - 44).toBe(16_000 * seconds);
  let rises = 0;
  for (let at = 46; at < wav.length; at += 2) {
    if (wav.readInt16LE(at - 2) < 0 && wav.readInt16LE(at) >= 0) rises += 1;
  }
  return rises / seconds;
}

describe('the camera', () => {
  it('sends a JPEG of its call that differs from the one before', async () => {
    const { blob, clock, call } = rig('camera');
    const first = await blob('snapshot');
    expect(first.open).toMatchObject({ mediaType: 'image/jpeg', purpose: 'snapshot' });
    expect(first.value).toMatchObject({ frame: 1, width: 640, height: 480 });
    await clock.pass(1_000);
    const second = await blob('snapshot');
    expect(second.value).toMatchObject({ frame: 2 });
    expect(Buffer.from(second.bytes).equals(Buffer.from(first.bytes))).toBe(false);
    expect(await call('status')).toMatchObject({ frames: 2 });
    expect(await call('help')).toContain('snapshot');
  });

  it('records a tone that its words describe, and names the recording in its transcript', async () => {
    const { peer, clock, send, answer } = rig('camera');
    const pitches: number[] = [];
    for (const [i, seconds] of [undefined, 1].entries()) {
      const id = send('record', seconds === undefined ? {} : { seconds });
      await clock.pass(1_000 * (seconds ?? 2));
      const [open] = peer.take('blobOpen');
      expect(open).toMatchObject({ mediaType: 'audio/wav', purpose: 'recording' });
      expect(open?.callId).toBeUndefined();
      const { blobId = 0, size = 0 } = open ?? {};
      // The words must not arrive before what they are about.
      expect(peer.take('transcript')).toEqual([]);
      peer.say({ type: 'blobAck', blobId, nextOffset: 0, windowEnd: size });
      const wav = Buffer.alloc(size);
      for (const part of peer.take('blobData')) wav.set(part.bytes, part.offset);
      peer.say({ type: 'blobDone', blobId, status: 0 });
      await turn();
      const [said] = peer.take('transcript');
      expect(said).toMatchObject({ label: `Recording ${i + 1}`, durationS: seconds ?? 2, blobId });
      const [, hz = '', s = ''] = /^A tone of (\d+) Hz for (\d+) s\.$/.exec(said?.text ?? '') ?? [];
      expect(Number(s)).toBe(seconds ?? 2);
      expect(pitchOf(wav, Number(s))).toBeCloseTo(Number(hz), -1);
      pitches.push(Number(hz));
      expect(answer(id)).toMatchObject({
        type: 'result',
        value: { text: said?.text, bytes: size },
      });
    }
    expect(pitches[0]).not.toBe(pitches[1]);
  });

  it('writes down what was said to it', async () => {
    const { peer, clock, send } = rig('camera');
    send('record', { seconds: 1, says: 'hello there' });
    await clock.pass(1_000);
    const { blobId = 0, size = 0 } = peer.take('blobOpen')[0] ?? {};
    peer.say({ type: 'blobAck', blobId, nextOffset: 0, windowEnd: size });
    peer.say({ type: 'blobDone', blobId, status: 0 });
    await turn();
    expect(peer.take('transcript')[0]?.text).toBe('hello there');
  });

  it('a recording that nobody takes has no transcript, and the call says why', async () => {
    const { peer, clock, send, answer } = rig('camera');
    const id = send('record', { seconds: 1 });
    await clock.pass(1_000);
    const { blobId = 0 } = peer.take('blobOpen')[0] ?? {};
    peer.say({ type: 'blobDone', blobId, status: 4 });
    await turn();
    expect(answer(id)).toMatchObject({ type: 'failure', code: 'blob_too_large' });
    expect(peer.take('transcript')).toEqual([]);
  });

  it('sees day and night by the gateway’s time', async () => {
    const { blob, peer } = rig('camera');
    peer.welcome({ session: 8, unixMs: Date.UTC(2026, 2, 1, 12) });
    const noon = await brightness((await blob('snapshot')).bytes);
    peer.welcome({ session: 9, unixMs: Date.UTC(2026, 2, 1, 1) });
    const night = await brightness((await blob('snapshot')).bytes);
    expect(noon).toBeGreaterThan(night + 60);
  });
});
