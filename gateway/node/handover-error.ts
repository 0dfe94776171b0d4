/** Why a board was not handed over, one code for each cause, in words for the person who asked. */
export type HandoverFault =
  /** Giving: no such board is in the book. */
  | 'unknown'
  /** Giving: it was not paired over BLE. */
  | 'not_ble'
  /** Giving: it has to hear of its new key, and is not connected. */
  | 'offline'
  /** This board is on its way already. */
  | 'busy'
  /** The hub says that it is another's, and its key was given to nobody. */
  | 'not_given'
  /** Adopting: no hub that can bring boards is there. */
  | 'no_hub'
  /** Adopting: it is connected to this gateway. */
  | 'already_here'
  /** Adopting: stored here, and the hub does not know it yet. */
  | 'unfinished'
  /** Adopting: the hub has given it to somebody else meanwhile. */
  | 'taken_back';

const WORDS: Readonly<Record<HandoverFault, string>> = {
  unknown: 'The gateway that has the board does not know it any more.',
  not_ble: 'Only boards that were paired over Bluetooth are handed over.',
  offline:
    'The board is not connected to the gateway that has it; bring it near that one and try again.',
  busy: 'This board is being handed over already; wait for that to end.',
  not_given:
    'The hub says that the board is another gateway’s now, but this one gave its key to nobody, so nothing was forgotten.',
  no_hub:
    'There is no connection to a hub that can bring boards from other gateways, so nothing was changed; see that the hub runs and try again.',
  already_here: 'The board is connected to this gateway already; nothing was changed.',
  unfinished:
    'The board’s key is stored here, but the hub could not be told yet; that is done by itself as soon as the hub answers.',
  taken_back:
    'The hub did not let the board come here: it was asked for once more meanwhile. It was forgotten here again; adopt it once more.',
};

export class HandoverError extends Error {
  override readonly name = 'HandoverError';
  constructor(
    readonly code: HandoverFault,
    cause?: unknown,
  ) {
    super(WORDS[code], cause === undefined ? undefined : { cause });
  }
}
