/** Why a board was not paired, one code for each cause, in words for the person who tried. */
export type PairingFault =
  /** The board says that the set-up key is not its own. */
  | 'wrong_code'
  /** The board takes no more codes for `seconds`. */
  | 'locked_out'
  /** The board has a key of some gateway, and its set-up code opens nothing. */
  | 'already_paired'
  /** Another board than the code's answered. */
  | 'wrong_board'
  /** It does not seal, or speaks another version. */
  | 'cannot_pair'
  /** It refused for a reason of its own, or sent what no board sends. */
  | 'refused'
  /** Connected, and then nothing came. */
  | 'silent'
  /** The connection ended. */
  | 'lost'
  /** No such board was heard. */
  | 'not_found'
  /** The board's key could not be stored here. */
  | 'not_kept'
  /** This board is being paired already. */
  | 'busy'
  | 'cancelled';

const AGAIN = 'Nothing was paired; run the same again';

const WORDS: Readonly<Record<PairingFault, string>> = {
  wrong_code:
    'The board does not know this set-up code, so nothing was paired; read the code from the board itself and try again.',
  locked_out:
    'The board takes no codes for a while after wrong ones, so nothing was paired; wait, or press the button on the board, and try again.',
  already_paired:
    'The board is paired with a gateway already, so nothing was changed; unpair it there, or reset it with its button, and try again.',
  wrong_board:
    'Another board answered than the one that this code is for, so nothing was paired; check which board the code was read from.',
  cannot_pair:
    'The board speaks another version of the protocol or does not seal, so nothing was paired; update Motebridge or the board’s firmware.',
  refused: `The board refused to be paired. ${AGAIN}, nearer to the board.`,
  silent: `The board connected and then did not answer. ${AGAIN}, nearer to the board; if it stays silent, restart it.`,
  lost: `The connection to the board was lost. ${AGAIN}, nearer to the board.`,
  not_found:
    'The board was not heard, so nothing was paired; see that it is on, near, and not connected to something else, and try again.',
  not_kept:
    'The board’s key could not be stored here, so it was not paired; make room on the disk and run the same again.',
  busy: 'This board is being paired already; nothing more was begun, wait for that to end.',
  cancelled: 'Pairing was stopped; run the same again when you like.',
};

export interface FaultAbout {
  /** Of a lock-out: how long, as the board says. */
  seconds?: number | undefined;
  cause?: unknown;
  /** In place of the words for the code. */
  message?: string;
}

export class PairingError extends Error {
  override readonly name = 'PairingError';
  readonly seconds: number | undefined;

  constructor(
    readonly code: PairingFault,
    about: FaultAbout = {},
  ) {
    super(
      about.message ?? WORDS[code],
      about.cause === undefined ? undefined : { cause: about.cause },
    );
    this.seconds = about.seconds;
  }
}
