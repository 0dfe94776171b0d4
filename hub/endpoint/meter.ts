/** A bound for everything that a request brings, and not for what counts as its answer alone. */
import type { ClientRequest } from 'node:http';

export interface Meter {
  /** So many bytes more are welcome. */
  grant(bytes: number): void;
}

/**
 * Calls `over` once more has come than `bytes` and what was granted since. Hints before an answer,
 * and what chunks carry beside their bytes, have no other bound but the time of the call, and a
 * fast line brings gigabytes in it.
 */
export function metered(sent: ClientRequest, bytes: number, over: () => void): Meter {
  let left = bytes;
  sent.on('socket', (socket) => {
    socket.on('data', (part: Buffer) => {
      left -= part.length;
      if (left < 0) over();
    });
  });
  return {
    grant(more) {
      left += more;
    },
  };
}
