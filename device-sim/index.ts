/** Simulated boards: a display, an air sensor, a camera, a device that is called by its URL, and what others are made of. */
export * from './board.js';
export { createSimBoard, MODELS, type ModelName, type SimBoardInput } from './create.js';
export { CARD_TYPES, CardError } from './draw/cards.js';
export { PANEL } from './draw/chrome.js';
export { Framebuffer, GRAYS } from './draw/framebuffer.js';
export { type LocalCa, makeCa, type TlsIdentity } from './endpoint/ca.js';
export { ENDPOINT_CAPABILITIES, type EndpointIdentity, enrolEndpoint } from './endpoint/enrol.js';
export { ENDPOINT_FAULTS, type EndpointFault } from './endpoint/faults.js';
export {
  type EndpointAsked,
  type EndpointDevice,
  type EndpointOptions,
  startEndpoint,
} from './endpoint/server.js';
export {
  type BthomePress,
  type BthomeSensor,
  type BthomeSensorOptions,
  bthomeSensor,
  type CounterStore,
} from './models/bthome.js';
export { cameraModel } from './models/camera.js';
export { type EinkModel, einkModel } from './models/eink.js';
export { type EnvOptions, envModel } from './models/env.js';
export {
  type NecklaceFlash,
  type NecklaceOptions,
  type SimNecklace,
  simNecklace,
} from './models/necklace.js';
export { type Fate, Panel, REFRESH_MS } from './models/panel.js';
export { type PairingState, Provisioning } from './provisioning.js';
export {
  type Air,
  type AirOptions,
  type AirPacket,
  createAir,
  type PacketFate,
} from './radio/air.js';
export { type BlenoPeripheralOptions, blenoPeripheral } from './radio/bleno-peripheral.js';
export type { ControllerOptions, VirtualController } from './radio/controller.js';
export type {
  Peripheral,
  PeripheralAdvertising,
  PeripheralCharacteristic,
  PeripheralEvents,
} from './radio/peripheral.js';
export { RadioUnavailable } from './radio/unavailable.js';
export { type NobleFork, type Virtual, virtualBleno, virtualNoble } from './radio/wire.js';
export { BoardSession, type SessionOptions } from './session.js';
export { memoryStore } from './stores.js';
export { type BleTransport, type BleTransportOptions, bleTransport } from './transports/ble.js';
export { type BusEnd, type MemoryTransportOptions, memoryTransport } from './transports/memory.js';
export { type MqttTransportOptions, mqttTransport } from './transports/mqtt.js';
export * from './types.js';
