/** Which addresses the hub may call for a stranger: only what is reachable on the open internet. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Special all the same, and not in the library's tables. */
const MORE_V4: readonly [string, number][] = [
  // The wire server of a large cloud: it hands secrets to whoever asks from inside.
  ['168.63.129.16', 32],
];
const GLOBAL_V6: readonly [string, number] = ['2000::', 3];
const MORE_V6: readonly [string, number][] = [
  // The 6bone, returned in 2006 (RFC 3701).
  ['3ffe::', 16],
];

/**
 * False for anything private, local, shared, reserved, or that carries another address inside it
 * (mapped, NAT64, 6to4, Teredo, ISATAP), and for what is no address. A public address inside such
 * a wrapping is refused too: who wraps it decides where it leads.
 */
export function isPublicAddress(text: string): boolean {
  // A zone names an interface of this machine.
  if (text.includes('%') || isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  if (address instanceof ipaddr.IPv4) return !MORE_V4.some((net) => inside(address, net));
  // All else is unassigned, or was given up: ::/96 once meant "the IPv4 address in the last bits".
  if (!inside(address, GLOBAL_V6)) return false;
  return !isIsatap(address) && !MORE_V6.some((net) => inside(address, net));
}

function inside(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  [net, bits]: readonly [string, number],
): boolean {
  return address.match(ipaddr.parse(net), bits);
}

/** `…:[0200:]5efe:a.b.c.d` under any prefix is a tunnel to that IPv4 address (RFC 5214). */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0x5efe && ((parts[4] ?? 0) & ~0x0200) === 0;
}
