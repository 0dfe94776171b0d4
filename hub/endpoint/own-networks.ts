/** What is next to the hub: public by its number, and reached without ever leaving the house. */
import os from 'node:os';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from './public-address.js';

type Interfaces = ReturnType<typeof os.networkInterfaces>;

/**
 * Whether the hub may call an address for a stranger: a public one that is neither this machine's
 * nor in a network that it is part of. With IPv6 every machine of a house has a public address.
 */
export function mayBeCalled(text: string, interfaces?: Interfaces): boolean {
  if (!isPublicAddress(text)) return false;
  const address = ipaddr.parse(text);
  const own = Object.values(interfaces ?? os.networkInterfaces()).flatMap((all) => all ?? []);
  return !own.some(({ cidr }) => {
    if (cidr === null || !ipaddr.isValidCIDR(cidr)) return false;
    const [net, bits] = ipaddr.parseCIDR(cidr);
    // A tunnel that takes everything says so by a network of everything.
    return bits > 0 && net.kind() === address.kind() && address.match(net, bits);
  });
}
