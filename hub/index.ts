export type { Agent, Question, Recording } from './agent.js';
export type { HubClock } from './clock.js';
export type { HubLog } from './context.js';
export { SchemaTooNew } from './db/migrations.js';
export { createHub, type Hub, type HubOptions } from './hub.js';
export { type HubLimits, LIMITS } from './limits.js';
export type { Answered, NotDone, Pending } from './outcome.js';
export type { Owner, OwnerView } from './owners.js';
export type { UseDeviceReply, UseDeviceRequest } from './use-device.js';
