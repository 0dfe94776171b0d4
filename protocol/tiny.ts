/** The tiny Devices API (wire document, parts A0 to A12), one file for each part. */
export * from './tiny/agent.js';
export * from './tiny/common.js';
export * from './tiny/devices.js';
export * from './tiny/endpoint.js';
export * from './tiny/mailbox.js';
export * from './tiny/routes.js';
export * from './tiny/service.js';
export * from './tiny/uploads.js';
