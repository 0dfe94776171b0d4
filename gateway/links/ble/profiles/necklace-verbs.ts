/** What a necklace can be asked for. */
import type { NecklaceIdentity, NecklaceKind } from '../../../../protocol/necklace.js';
import { SpokenFailure, type SpokenVerb } from '../spoken-calls.js';
import type { NecklaceTalk } from './necklace-talk.js';

export function necklaceVerbs(
  talk: () => NecklaceTalk | undefined,
  kind: () => NecklaceKind | undefined,
): SpokenVerb[] {
  const connected = (): NecklaceTalk => {
    const open = talk();
    if (open) return open;
    throw new SpokenFailure('link_lost', 'the necklace is not connected; nothing was asked of it');
  };
  return [
    {
      name: 'status',
      signature: '',
      description: 'asks the necklace whether it listens, and what it heard last',
      idempotent: true,
      readOnly: true,
      run: () => connected().readNow(),
    },
    {
      name: 'provision',
      signature: 'device_id:s64 token:s64 name?:s64 ssid?:s32 key?:s63',
      description:
        'gives the necklace another identity (Wi-Fi for those with a camera only); it restarts then',
      protected: true,
      run: async (args) => {
        const identity = args as unknown as NecklaceIdentity;
        const { ok, complete, missing, error } = await connected().provision(identity, kind());
        if (!ok) {
          const why = error ?? 'it gave no reason';
          throw new SpokenFailure('refused', `the necklace did not take its identity: ${why}`);
        }
        return { complete, missing: [...missing] };
      },
    },
  ];
}
