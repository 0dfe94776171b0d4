/** `use_device` on a device that is called: at once, and never by way of the mailbox (A9; 106). */
import type { HubContext } from '../context.js';
import type { DeviceRow } from '../devices.js';
import { keepMedia } from '../media.js';
import type { Answered, NotDone } from '../outcome.js';
import { CallFault } from './fault.js';

/**
 * A prompt goes to the device's chat. One that is just `snapshot` or `telemetry` makes that call
 * instead, where the device's capabilities name it: a chat could not bring a picture back.
 * Aborting `signal` ends the call; what is answered then says whether the device was asked.
 */
export async function invokeEndpoint(
  ctx: HubContext,
  device: DeviceRow,
  prompt: string,
  timeoutMs: number | undefined,
  signal?: AbortSignal,
): Promise<Answered | NotDone> {
  const { endpoints } = ctx;
  const word = prompt.trim();
  const isCall = (JSON.parse(device.capabilities) as unknown[]).includes(word);
  // Zero is how others say that they won't wait, which is no choice here (statement 108).
  const limits = { mostMs: timeoutMs || undefined, signal };
  const ids = { device_id: device.id };
  if (signal?.aborted) {
    const message = `The call to ${device.name} was taken back; nothing was sent.`;
    return { ok: false, outcome: 'cancelled', error: { code: 'cancelled', message }, ...ids };
  }
  try {
    if (isCall && word === 'snapshot') {
      const { type, bytes } = await endpoints.snapshot(device, limits);
      const { url } = await keepMedia(ctx, device.owner_id, type, bytes);
      const result = { media_type: type, bytes: bytes.length };
      return { ok: true, result, images: [url], ...ids };
    }
    const result =
      isCall && word === 'telemetry'
        ? await endpoints.telemetry(device, limits)
        : await endpoints.chat(device, prompt, limits);
    return { ok: true, result, ...ids };
  } catch (error) {
    if (!(error instanceof CallFault)) throw error;
    return { ok: false, ...noteOf(device.name, error), ...ids };
  }
}

/** What an agent can do differs by what went wrong, so each says it in its own way (97). */
function noteOf(name: string, fault: CallFault): Pick<NotDone, 'outcome' | 'error'> {
  const note = (outcome: string, message: string) => ({
    outcome,
    error: { code: fault.kind, message },
  });
  switch (fault.kind) {
    case 'unreachable':
      return note(
        'unreachable',
        `${name} can’t be reached (${fault.why}); nothing was sent. Try again when it is back.`,
      );
    case 'broken':
      return note(
        'outcome_unknown',
        `${name} was asked, but no whole answer came (${fault.why}); it may have been done.`,
      );
    case 'timeout':
      return note(
        'outcome_unknown',
        `${fault.message.replace('device', () => name)}; it may still be at it.`,
      );
    case 'cancelled':
      return note(
        'outcome_unknown',
        `${fault.message.replace('device', () => name)}; it may have been done.`,
      );
    case 'unauthorized':
      return note(
        'refused',
        fault.message.replace('device', () => name),
      );
    case 'failed':
      return note(
        'failed',
        fault.message.replace('device', () => name),
      );
  }
}
