import os from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { mayBeCalled } from './own-networks.js';

const at = (cidr: string): ReturnType<typeof os.networkInterfaces> => ({
  eth0: [
    {
      cidr,
      address: cidr.split('/')[0] ?? '',
      netmask: '',
      mac: '00:00:00:00:00:00',
      internal: false,
      ...(cidr.includes(':') ? { family: 'IPv6', scopeid: 0 } : { family: 'IPv4' }),
    },
  ],
});

describe('addresses that may be called for a stranger', () => {
  it.each([
    ['this machine’s own', '8.8.8.8', '8.8.8.8/32'],
    ['in the same network', '8.8.8.200', '8.8.8.8/24'],
    ['of the same house, with IPv6', '2a00:1450:1:2::99', '2a00:1450:1:2::1/64'],
    ['private', '10.0.0.1', '8.8.8.8/24'],
  ])('are none %s: %s', (_which, address, cidr) => {
    expect(mayBeCalled(address, at(cidr))).toBe(false);
  });

  it.each([
    ['8.8.9.1', '8.8.8.8/24'],
    ['2a00:1450:1:3::99', '2a00:1450:1:2::1/64'],
    ['8.8.8.8', '2a00:1450:1:2::1/64'],
    ['8.8.8.8', '1.2.3.4/0'],
  ])('are others: %s beside %s', (address, cidr) => {
    expect(mayBeCalled(address, at(cidr))).toBe(true);
  });

  describe('where none are given', () => {
    afterEach(() => vi.restoreAllMocks());

    it('the networks are this machine’s', () => {
      vi.spyOn(os, 'networkInterfaces').mockReturnValue(at('8.8.8.8/24'));
      expect([mayBeCalled('8.8.8.9'), mayBeCalled('8.8.9.9')]).toEqual([false, true]);
    });
  });
});
