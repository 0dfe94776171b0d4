/**
 * The simulated devices of this process that are called by their URL. They serve TLS on loopback
 * under an authority that lives as long as the process; the hub is told to trust just them.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type EndpointDevice, enrolEndpoint, makeCa, startEndpoint } from '../device-sim/index.js';
import { nodeClock } from '../gateway/node/clock.js';
import { makeFolder, replaceFile } from '../store/files.js';
import { systemCode } from './fault.js';

export interface SimEndpoints {
  /** For the hub that is to call them: where they are, and whose certificates they show. */
  readonly hosts: readonly string[];
  readonly ca: string;
  /** Makes each known at the hub, under the id of last time where it is still there. */
  enrol(hub: { url: string; token: string }): Promise<void>;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';

/** What lasts of one from start to start. */
const kept = z.object({ secret: z.string(), port: z.number(), deviceId: z.string().optional() });
type Kept = z.infer<typeof kept>;

interface Playing {
  name: string;
  file: string;
  state: Kept;
  device: EndpointDevice;
}

/** Rejects with what the system said when one can't serve; then none does. */
export async function startSimEndpoints(
  folder: string,
  names: readonly string[],
): Promise<SimEndpoints> {
  await makeFolder(folder);
  const ca = makeCa();
  const playing: Playing[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(playing.map(({ device }) => device.close()));
  };
  try {
    for (const name of names) {
      const file = join(folder, `${encodeURIComponent(name)}.endpoint.json`);
      const known = await read(file);
      const secret = known?.secret ?? randomBytes(32).toString('base64url');
      const play = (port: number): Promise<EndpointDevice> =>
        startEndpoint({
          name,
          secret,
          clock: nodeClock(),
          random: Math.random,
          tls: ca.issue([HOST]),
          host: HOST,
          port,
        });
      // Another program may have taken its port meanwhile; then its URL is another, too.
      const device = await play(known?.port ?? 0).catch((error) => {
        if (known === undefined || systemCode(error) !== 'EADDRINUSE') throw error;
        return play(0);
      });
      playing.push({ name, file, state: { ...known, secret, port: device.port }, device });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    hosts: playing.map(({ device }) => `${HOST}:${device.port}`),
    ca: ca.cert,
    async enrol(hub) {
      for (const { name, file, state, device } of playing) {
        const { secret, deviceId: known } = state;
        const deviceId = await enrolEndpoint(hub, { name, url: device.url, secret }, known);
        await replaceFile(file, JSON.stringify({ ...state, deviceId }));
      }
    },
    stop,
  };
}

/** A file that is missing or unreadable is that of a device that begins anew. */
async function read(file: string): Promise<Kept | undefined> {
  try {
    return kept.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return undefined;
  }
}
