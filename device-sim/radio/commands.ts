/** What the virtual controller does at each HCI command, and what it answers. */
import type { VirtualController } from './controller.js';
import * as hci from './hci.js';

const { COMMAND, STATUS } = hci;

/** Runs with the parameters alone; has answered when it returns. */
type Run = (at: VirtualController, parameters: Buffer, opcode: number) => void;

const done =
  (run: (at: VirtualController, parameters: Buffer) => readonly number[] | undefined): Run =>
  (at, parameters, opcode) =>
    at.say(hci.commandComplete(opcode, [STATUS.ok, ...(run(at, parameters) ?? [])]));

/** Taken and of no consequence here. */
const taken: Run = done(() => undefined);

const RUN: Readonly<Record<number, Run>> = {
  [COMMAND.setEventMask]: taken,
  [COMMAND.leSetEventMask]: taken,
  [COMMAND.writeLeHost]: taken,
  [COMMAND.reset]: done((at) => {
    at.forget();
    return undefined;
  }),
  [COMMAND.readLeHost]: done(() => [1, 0]),
  // Core 5.1, and a company of none.
  [COMMAND.readVersion]: done(() => [10, 0, 0, 10, 0xff, 0xff, 0, 0]),
  [COMMAND.readSupportedCommands]: done(() => Array.from({ length: 64 }, () => 0)),
  [COMMAND.readBufferSize]: done(() => [hci.ACL_OCTETS, 0, 0, hci.ACL_PACKETS, 0, 0, 0]),
  [COMMAND.readAddress]: done((at) => [...at.address]),
  [COMMAND.readRssi]: (at, parameters, opcode) => {
    const link = at.links.get(parameters.readUInt16LE(0));
    const status = link ? STATUS.ok : STATUS.unknownConnection;
    const rssi = link ? link.peerOf(at).rssi & 0xff : 0;
    at.say(hci.commandComplete(opcode, [status, ...parameters.subarray(0, 2), rssi]));
  },
  [COMMAND.leReadBufferSize]: done(() => [hci.ACL_OCTETS, 0, hci.ACL_PACKETS]),
  // Bit 5: longer data packets.
  [COMMAND.leReadFeatures]: done(() => [0x20, 0, 0, 0, 0, 0, 0, 0]),
  [COMMAND.leReadMaxDataLength]: done(() => hci.dataLength()),
  [COMMAND.leSetDataLength]: (at, parameters, opcode) => {
    const handle = parameters.readUInt16LE(0);
    const status = at.links.has(handle) ? STATUS.ok : STATUS.unknownConnection;
    at.say(hci.commandComplete(opcode, [status, ...parameters.subarray(0, 2)]));
    if (status === STATUS.ok) at.say(hci.dataLengthChanged(handle));
  },
  [COMMAND.leSetAdvertisingParameters]: (at, parameters, opcode) => {
    if (at.advertising) {
      at.say(hci.commandComplete(opcode, [STATUS.notNow]));
      return;
    }
    // In units of 0.625 ms, 20 ms at the least.
    at.advertised.intervalMs = Math.max(20, parameters.readUInt16LE(0) * 0.625);
    at.advertised.type = parameters[4] ?? hci.REPORT.connectable;
    at.say(hci.commandComplete(opcode));
  },
  [COMMAND.leSetAdvertisingData]: done((at, parameters) => {
    at.advertised.data = Buffer.from(parameters.subarray(1, 1 + (parameters[0] ?? 0)));
    return undefined;
  }),
  [COMMAND.leSetScanResponse]: done((at, parameters) => {
    at.advertised.scanResponse = Buffer.from(parameters.subarray(1, 1 + (parameters[0] ?? 0)));
    return undefined;
  }),
  [COMMAND.leSetAdvertisingEnable]: done((at, parameters) => {
    at.setAdvertising(parameters[0] === 1);
    return undefined;
  }),
  [COMMAND.leSetScanParameters]: (at, parameters, opcode) => {
    if (!at.scan) at.scansActively = parameters[0] === 1;
    at.say(hci.commandComplete(opcode, [at.scan ? STATUS.notNow : STATUS.ok]));
  },
  [COMMAND.leSetScanEnable]: done((at, parameters) => {
    at.setScan(parameters[0] === 1 ? { filter: parameters[1] === 1 } : undefined);
    return undefined;
  }),
  [COMMAND.leCreateConnection]: (at, parameters, opcode) => {
    const refused = at.pending
      ? STATUS.notNow
      : at.taken >= at.slots
        ? STATUS.limitExceeded
        : STATUS.ok;
    at.say(hci.commandStatus(opcode, refused));
    if (refused !== STATUS.ok) return;
    const address = Buffer.from(parameters.subarray(6, 12));
    at.pending = { address, supervision: parameters.readUInt16LE(19) };
    at.air.connectPending(at);
  },
  [COMMAND.leCancelConnection]: (at, _, opcode) => {
    const { pending } = at;
    at.say(hci.commandComplete(opcode, [pending ? STATUS.ok : STATUS.notNow]));
    if (!pending) return;
    at.pending = undefined;
    const { address: peer, supervision } = pending;
    const status = STATUS.unknownConnection;
    at.say(hci.connectionComplete({ status, handle: 0, role: 0, peer, supervision }));
  },
  [COMMAND.leUpdateConnection]: (at, parameters, opcode) => {
    const link = at.links.get(parameters.readUInt16LE(0));
    at.say(hci.commandStatus(opcode, link ? STATUS.ok : STATUS.unknownConnection));
    if (!link) return;
    // Its range of intervals is answered by the longest: interval, latency, timeout.
    const agreed = parameters.subarray(4, 10);
    for (const end of [at, link.peerOf(at)]) {
      end.say(hci.connectionUpdated(link.handleOf(end), agreed));
    }
  },
  [COMMAND.disconnect]: (at, parameters, opcode) => {
    const link = at.links.get(parameters.readUInt16LE(0));
    at.say(hci.commandStatus(opcode, link ? STATUS.ok : STATUS.unknownConnection));
    if (!link) return;
    link.end(
      new Map([
        [at, STATUS.localEnded],
        [link.peerOf(at), parameters[2] ?? STATUS.remoteEnded],
      ]),
    );
  },
};

export function runCommand(at: VirtualController, opcode: number, parameters: Buffer): void {
  const run = RUN[opcode];
  if (!run) {
    at.say(hci.commandComplete(opcode, [STATUS.unknownCommand]));
    return;
  }
  try {
    run(at, parameters, opcode);
  } catch (error) {
    // Parameters that are too short for what they should hold.
    if (!(error instanceof RangeError)) throw error;
    at.say(hci.commandComplete(opcode, [0x12]));
  }
}
