import { isIP } from 'node:net';

/** `localhost`, 127.0.0.0/8 and ::1, also as IPv4 in IPv6. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^::ffff:/i, '');
  return (
    host === 'localhost' || host === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
  );
}
