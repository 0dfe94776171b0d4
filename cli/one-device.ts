/** One of the owner's devices, as a person names it. */
import type { Device } from './client.js';
import { CliError, EXIT } from './fault.js';
import { oneLine } from './text.js';

/** By id, or by a name that only one has. Throws `CliError`; `notDone`: what was not done to it. */
export function oneDevice(devices: Device[], wanted: string, notDone: string): Device {
  const byId = devices.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const named = devices.filter(({ name }) => name === wanted);
  const [only] = named;
  if (only === undefined) throw unknownDevice(wanted, notDone);
  if (named.length === 1) return only;
  throw new CliError(
    'ambiguous',
    `${named.length} devices are named ${oneLine(wanted, 64)}, so none was ${notDone}; use the id that \`motebridge devices\` shows.`,
    EXIT.usage,
  );
}

export const unknownDevice = (wanted: string, notDone: string): CliError =>
  new CliError(
    'no_such_device',
    `You have no device ${oneLine(wanted, 64)}, so none was ${notDone}; \`motebridge devices\` lists them.`,
    EXIT.refused,
  );
