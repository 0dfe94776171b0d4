/** Every word that crosses a wire. Runs in Node and in a browser. */
export * from './ble.js';
export * from './blob.js';
export * from './bthome.js';
export * from './catalog.js';
export * from './channel.js';
export * from './codec.js';
export * from './explain.js';
export * from './frame.js';
/** Its names overlap with the tiny API's, so it keeps a name of its own here. */
export * as gatewayApi from './gateway-api.js';
export * from './identity.js';
export * from './json-form.js';
export * from './kinds.js';
export * from './messages.js';
export * from './necklace.js';
export * from './profile.js';
export * from './relay.js';
export * from './sealing.js';
export * from './segment-link.js';
export * from './segments.js';
export * from './setup-code.js';
export * from './signature.js';
export * from './text.js';
export * from './tiny.js';
export * from './web-ccm.js';
