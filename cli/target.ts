/** Which hub a command talks to: flags first, then the environment, then the home's file. */
import { CliError, EXIT, usage } from './fault.js';
import { chooseHome, readCredentials } from './home.js';

export interface HubFlags {
  home?: string | undefined;
  url?: string | undefined;
  token?: string | undefined;
}

export interface Target {
  /** Base URL without a slash at the end. */
  url: string;
  token: string;
}

/** `http(s)://host[:port][/path]` without a slash at the end. */
export function baseUrl(text: string, from: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw usage(`${from} is not a URL; write it like http://127.0.0.1:8787.`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw usage(`${from} must begin with http:// or https://.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usage(`${from} must not hold a user name or password; give the token by itself.`);
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

const given = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : text;

export function chooseTarget(
  env: Readonly<Record<string, string | undefined>>,
  flags: HubFlags,
): Target {
  const home = chooseHome(env, flags.home);
  const stored = readCredentials(home.path);
  // A home named by flag is the user's last word; the environment is a default.
  const skipEnv = home.named && stored !== undefined;
  const urlText = given(flags.url) ?? (skipEnv ? undefined : given(env.MOTEBRIDGE_URL));
  const url =
    urlText === undefined
      ? stored?.url
      : baseUrl(urlText, given(flags.url) === undefined ? 'MOTEBRIDGE_URL' : '--url');
  if (url === undefined) {
    throw new CliError(
      'no_hub',
      `No hub is known in ${home.path}; run \`motebridge start\` first, name its folder with --home, or set MOTEBRIDGE_URL and MOTEBRIDGE_TOKEN.`,
      EXIT.unreachable,
    );
  }
  const token =
    given(flags.token) ??
    (skipEnv ? undefined : given(env.MOTEBRIDGE_TOKEN)) ??
    // A stored token is for the hub it was stored with, and is sent to no other.
    (stored?.url === url ? stored.token : undefined);
  if (token === undefined) {
    throw new CliError(
      'no_token',
      `There is no token for ${url}; run \`motebridge login ${url}\`, or set MOTEBRIDGE_TOKEN to the one that \`motebridge start\` printed.`,
      EXIT.refused,
    );
  }
  return { url, token };
}
