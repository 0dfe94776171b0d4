/** A camera that looks out of a window: each picture differs by its hour, its clouds, its number. */

import type { Value } from '../../protocol/kinds.js';
import { PICTURE, renderScene } from '../draw/scene.js';
import { readingsByName } from '../firmware.js';
import type { BoardHost, BoardSpec, Model, VerbContext } from '../types.js';

export function cameraModel(name: string): Model {
  return (host) => cameraSpec(host, name);
}

function cameraSpec(host: BoardHost, name: string): BoardSpec {
  const startedAt = host.clock.now();
  let frame = 0;
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
        name: 'status',
        signature: '',
        description: 'pictures taken and uptime',
        flags: { idempotent: true, readOnly: true },
        run: () => ({
          ...readingsByName(spec),
          uptime_s: Math.floor((host.clock.now() - startedAt) / 1000),
        }),
      },
    ],
  };
  return spec;
}
