/** How a call to a device fails, as the routes and the agent's tool tell it. */
import { Refusal } from '../refusal.js';

export type FaultKind =
  /** Nothing was sent. */
  | 'unreachable'
  /** It was sent, and the answer broke off or never was one. */
  | 'broken'
  | 'timeout'
  /** Whoever called no longer wants it. It was sent. */
  | 'cancelled'
  | 'unauthorized'
  /** The device answered with what is no good. */
  | 'failed';

export class CallFault extends Error {
  override readonly name = 'CallFault';
  constructor(
    readonly kind: FaultKind,
    /** As the routes say it; holds no secret. */
    message: string,
    /** The reason alone, where the message has one. */
    readonly why: string = message,
  ) {
    super(message);
  }

  /** The answer of the tiny routes. */
  refusal(): Refusal {
    switch (this.kind) {
      case 'timeout':
        return new Refusal(504, this.message, { timeout: true });
      case 'unreachable':
      case 'broken':
        return new Refusal(502, this.message, { unreachable: true });
      case 'unauthorized':
        return new Refusal(502, this.message, { unauthorized: true });
      case 'cancelled':
      case 'failed':
        return new Refusal(502, this.message);
    }
  }
}
