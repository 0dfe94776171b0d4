/** Simulated boards: a display, an air sensor and a camera, and what others are made of. */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { SimBoard, type SimBoardOptions } from './board.js';
import { cameraModel } from './models/camera.js';
import { type EinkModel, einkModel } from './models/eink.js';
import { envModel } from './models/env.js';
import type { Model } from './types.js';

export * from './board.js';
export { CARD_TYPES, CardError } from './draw/cards.js';
export { PANEL } from './draw/chrome.js';
export { Framebuffer, GRAYS } from './draw/framebuffer.js';
export { cameraModel } from './models/camera.js';
export { type EinkModel, einkModel } from './models/eink.js';
export { type EnvOptions, envModel } from './models/env.js';
export { type Fate, Panel, REFRESH_MS } from './models/panel.js';
export { BoardSession, type SessionOptions } from './session.js';
export { memoryStore } from './stores.js';
export { type BusEnd, memoryTransport } from './transports/memory.js';
export { type MqttTransportOptions, mqttTransport } from './transports/mqtt.js';
export * from './types.js';

export const MODELS = ['eink', 'env', 'camera'] as const;
export type ModelName = (typeof MODELS)[number];
