/** One call that makes a board of a kind, ready to start. */
import { SimBoard, type SimBoardOptions } from './board.js';
import type { Secure } from './greeting.js';
import { cameraModel } from './models/camera.js';
import { type EinkModel, einkModel } from './models/eink.js';
import { type EnvOptions, envModel } from './models/env.js';
import { helloNonce } from './sealing.js';
import type { Model } from './types.js';

export const MODELS = ['eink', 'env', 'camera'] as const;
export type ModelName = (typeof MODELS)[number];

export interface SimBoardInput extends Omit<SimBoardOptions, 'model' | 'sealing' | 'display'> {
  model: ModelName | Model;
  /** What people call it; it travels in CAPS and stands on the display. */
  name: string;
  /** The board's own key, 16 bytes. */
  key: Uint8Array;
  /** Seals its frames. `secure` makes the sealed session of its key, a HELLO and a WELCOME. */
  seal?: boolean;
  secure?: (key: Uint8Array, hello: Uint8Array, welcome: Uint8Array) => ReturnType<Secure>;
  env?: EnvOptions;
}

/**
 * Makes a simulated board; `start()` boots it. Its identity (id and key) is the caller's. Throws
 * RangeError for a key that is not 16 bytes or for `seal` without `secure`.
 */
export function createSimBoard(input: SimBoardInput): SimBoard {
  const { model: wanted, name, key, seal, secure, env, ...rest } = input;
  if (key.length !== 16) throw new RangeError(`a board's key is 16 bytes, not ${key.length}`);
  const display: EinkModel | undefined = wanted === 'eink' ? einkModel(name) : undefined;
  const options: SimBoardOptions = {
    ...rest,
    model: display?.model ?? (typeof wanted === 'function' ? wanted : modelOf(wanted, name, env)),
    ...(display ? { display } : {}),
  };
  if (env?.intervalS !== undefined && rest.readingsS === undefined) {
    options.readingsS = env.intervalS;
  }
  if (seal) {
    if (!secure) throw new RangeError('a board that seals needs `secure` to make its sessions');
    options.sealing = {
      nonce: (bootId, connection) => helloNonce(key, bootId, connection, input.random),
      secure: (hello, welcome) => secure(key, hello, welcome),
    };
  }
  return new SimBoard(options);
}

function modelOf(name: string, called: string, env: EnvOptions | undefined): Model {
  if (name === 'env') return envModel(called, env);
  if (name === 'camera') return cameraModel(called);
  throw new RangeError(`there is no model ${JSON.stringify(name)}; choose ${MODELS.join(', ')}`);
}
