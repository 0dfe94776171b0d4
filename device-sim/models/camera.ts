/**
 * A camera that looks out of a window: each picture differs by its hour, its clouds, its number.
 * It has a microphone, too.
 */

import type { Value } from '../../protocol/kinds.js';
import { PICTURE, renderScene } from '../draw/scene.js';
import { readingsByName } from '../firmware.js';
import { toneWav } from '../sound.js';
import type { BoardHost, BoardSpec, Model, VerbContext } from '../types.js';

/** Seconds that it records unless it is told. */
const RECORD_S = 2;
/** Hertz of what it hears: the lowest, and how far up it may be. */
const LOWEST = 220;
const RANGE = 660;

export function cameraModel(name: string): Model {
  return (host) => cameraSpec(host, name);
}

function cameraSpec(host: BoardHost, name: string): BoardSpec {
  const startedAt = host.clock.now();
  let frame = 0;
  let recordings = 0;
  const hours = (): { hour: number; text: string | undefined } => {
    const time = host.gatewayTime();
    if (!time)
      return { hour: 11 + (((host.clock.now() - startedAt) / 3_600_000) % 13), text: undefined };
    const local = new Date(time.unixMs + time.utcOffsetMin * 60_000);
    const text = local.toISOString().slice(0, 19).replace('T', ' ');
    return { hour: local.getUTCHours() + local.getUTCMinutes() / 60, text };
  };
  const snapshot = async (_: Record<string, Value>, ctx: VerbContext): Promise<Value> => {
    frame++;
    const { hour, text } = hours();
    const driftS = (host.clock.now() - startedAt) / 1000;
    const scene = { name, frame, hour, driftS, ...(text === undefined ? {} : { time: text }) };
    const bytes = renderScene(scene);
    await ctx.blob({ bytes, mediaType: 'image/jpeg', purpose: 'snapshot' });
    const { width, height } = PICTURE;
    return { frame: scene.frame, width, height, bytes: bytes.length, media_type: 'image/jpeg' };
  };
  /** What it hears is a tone, unless somebody says something to it. */
  const record = async (args: Record<string, Value>, ctx: VerbContext): Promise<Value> => {
    const seconds = Number(args.seconds ?? RECORD_S);
    await ctx.sleep(seconds * 1_000);
    recordings++;
    const hz = LOWEST + Math.round(RANGE * host.random());
    const text =
      args.says === undefined ? `A tone of ${hz} Hz for ${seconds} s.` : String(args.says);
    const bytes = toneWav(hz, seconds);
    const mediaType = 'audio/wav';
    const blobId = await host.blob({ bytes, mediaType, purpose: 'recording' });
    host.transcript(text, { label: `Recording ${recordings}`, durationS: seconds, blobId });
    return { text, duration_s: seconds, bytes: bytes.length, media_type: mediaType };
  };
  const spec: BoardSpec = {
    name,
    platform: 'sim-camera',
    firmware: 'mote-camera 1.0.0',
    maxCalls: 2,
    readings: [{ name: 'frames', unit: '', read: () => frame }],
    verbs: [
      {
        name: 'snapshot',
        signature: '',
        description: 'takes a picture, a JPEG of 640 by 480',
        flags: { readOnly: true },
        run: snapshot,
      },
      {
        name: 'record',
        signature: 'seconds?:i1..10 says?:s500',
        description: 'records what it hears, and keeps it with its words as a transcript',
        run: record,
      },
      {
        name: 'status',
        signature: '',
        description: 'pictures and recordings taken, and uptime',
        flags: { idempotent: true, readOnly: true },
        run: () => ({
          ...readingsByName(spec),
          recordings,
          uptime_s: Math.floor((host.clock.now() - startedAt) / 1000),
        }),
      },
    ],
  };
  return spec;
}
