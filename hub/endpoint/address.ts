/** What URL an endpoint device may have (wire document, part A8): looked at again before each call. */
import { isIP } from 'node:net';
import { ENROL_SAID } from '../../protocol/tiny.js';

export interface Target {
  /** `https://host[:port]`; all that is kept of the URL. */
  origin: string;
  /** A name, or an address without brackets. */
  host: string;
  port: number;
  /** The owner of the hub allowed this host by name, whatever address it has. */
  allowed: boolean;
}

const URL_MAX = 2048;
/** Names that are never on the open internet. */
const LOCAL = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;

/**
 * Reads a URL by the address rules. `allowed` holds hosts (`host` or `host:port`) that may be
 * private. Answers the sentence of the refusal where there is one.
 */
export function readTarget(value: unknown, allowed: readonly string[]): Target | string {
  if (typeof value !== 'string' || value.trim() === '') return ENROL_SAID.urlRequired;
  if (value.length > URL_MAX || !URL.canParse(value)) return ENROL_SAID.urlInvalid;
  const url = new URL(value);
  if (url.protocol !== 'https:') return ENROL_SAID.urlNotHttps;
  // The parser has decoded every spelling of an address, and one dot at the end means nothing.
  const named = url.hostname.replace(/\.$/, '');
  const host = named.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? 443 : Number(url.port);
  const origin = `https://${named}${url.port === '' ? '' : `:${url.port}`}`;
  const isAllowed = allowed.some((one) => {
    const wanted = one.toLowerCase();
    return wanted === named || wanted === `${named}:${port}`;
  });
  if (isAllowed) return { origin, host, port, allowed: true };
  if (!isPublicName(host)) return ENROL_SAID.urlNotPublic;
  // Below 1,024 are other protocols' servers, which must not hear from here.
  if (port !== 443 && port < 1024) return ENROL_SAID.urlPort;
  return { origin, host, port, allowed: false };
}

function isPublicName(host: string): boolean {
  if (isIP(host) !== 0 || host.length > 253) return false;
  const labels = host.split('.');
  if (labels.length < 2) return false;
  return labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) && !LOCAL.test(host);
}
