/** One call that makes a board of a kind, ready to start. */
import { SecureChannel } from '../protocol/channel.js';
import { SEAL } from '../protocol/frame.js';
import { boardNonce, type CcmMaker } from '../protocol/sealing.js';
import { webCcm } from '../protocol/web-ccm.js';
import { type BoardSealing, SimBoard, type SimBoardOptions } from './board.js';
import { cameraModel } from './models/camera.js';
import { type EinkModel, einkModel } from './models/eink.js';
import { type EnvOptions, envModel } from './models/env.js';
import { Provisioning } from './provisioning.js';
import type { Model } from './types.js';

export const MODELS = ['eink', 'env', 'camera'] as const;
export type ModelName = (typeof MODELS)[number];

export interface SimBoardInput extends Omit<SimBoardOptions, 'model' | 'sealing' | 'display'> {
  model: ModelName | Model;
  /** What people call it; it travels in CAPS and stands on the display. */
  name: string;
  /** The board's own key, 16 bytes. A board without one is paired by its set-up code. */
  key?: Uint8Array;
  /** The secret of its set-up code, where it has no key; random unless given. 16 bytes. */
  secret?: Uint8Array;
  /** Seals its frames with `key` (amendments 1 to 3); default false. A board without one seals. */
  seal?: boolean;
  /** AES-CCM to seal with; Web Crypto's unless told. */
  ccm?: CcmMaker;
  env?: EnvOptions;
}

/**
 * Makes a simulated board; `start()` boots it. Its identity (id and key) is the caller's. Throws
 * RangeError for a key or a secret that is not 16 bytes or an unknown model.
 */
export function createSimBoard(input: SimBoardInput): SimBoard {
  const { model: wanted, name, key, secret, seal, ccm = webCcm, env, ...rest } = input;
  if (key !== undefined && key.length !== 16)
    throw new RangeError(`a board's key is 16 bytes, not ${key.length}`);
  const display: EinkModel | undefined = wanted === 'eink' ? einkModel(name) : undefined;
  const options: SimBoardOptions = {
    ...rest,
    model: display?.model ?? (typeof wanted === 'function' ? wanted : modelOf(wanted, name, env)),
    ...(display ? { display } : {}),
  };
  if (env?.intervalS !== undefined && rest.readingsS === undefined) {
    options.readingsS = env.intervalS;
  }
  if (key === undefined) {
    const { boardId, store, clock, random } = input;
    options.sealing = pairedByCode(
      new Provisioning({ boardId, store, clock, random, ccm, secret }),
    );
  } else if (seal) options.sealing = sealingOf(key, input.random, ccm);
  return new SimBoard(options);
}

function sealingOf(key: Uint8Array, random: () => number, ccm: CcmMaker): BoardSealing {
  return {
    nonce: (bootId, connection) => {
      const eight = Uint8Array.from({ length: 8 }, () => Math.floor(random() * 256));
      return boardNonce(key, bootId, connection, eight);
    },
    secure: (hello, welcome) =>
      SecureChannel.create({ role: 'board', seal: SEAL.board, key, hello, welcome, ccm }),
  };
}

function pairedByCode(provisioning: Provisioning): BoardSealing {
  return {
    nonce: (bootId, connection) => provisioning.nonce(bootId, connection),
    secure: (hello, welcome) => provisioning.secureOwn(hello, welcome),
    provisioning,
  };
}

function modelOf(name: string, called: string, env: EnvOptions | undefined): Model {
  if (name === 'env') return envModel(called, env);
  if (name === 'camera') return cameraModel(called);
  throw new RangeError(`there is no model ${JSON.stringify(name)}; choose ${MODELS.join(', ')}`);
}
