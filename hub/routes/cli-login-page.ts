/** The pages of the consent login, as text. */
import { createHash } from 'node:crypto';
import type { CodeWish } from '../login.js';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}' +
  'input,button{font:inherit;padding:.5rem;box-sizing:border-box}' +
  'input{width:100%;margin:.5rem 0 1rem}button{cursor:pointer}.why{color:#a00}' +
  '@media(prefers-color-scheme:dark){body{background:#111;color:#eee}.why{color:#f88}}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/**
 * No script, no frame, nothing from elsewhere. A browser holds the redirect after a form to
 * `form-action` too, so the one place that the code goes to is named.
 */
export function pagePolicy(wish: CodeWish | undefined): string {
  const back =
    wish === undefined
      ? ''
      : wish.scheme === 'tinyapp'
        ? ' tinyapp:'
        : ` http://127.0.0.1:${wish.port}`;
  return (
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'${back}; ` +
    "base-uri 'none'; frame-ancestors 'none'"
  );
}

const NAMED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function safe(text: string): string {
  return text.replace(/[&<>"']/g, (c) => NAMED[c] ?? '');
}

function page(title: string, body: string): string {
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width,initial-scale=1">' +
    `<title>${title}</title><style>${STYLE}</style></head>\n` +
    `<body><main><h1>${title}</h1>\n${body}\n</main></body></html>\n`
  );
}

function hidden({ port, scheme, state }: CodeWish): string {
  const field = (name: string, value: string): string =>
    `<input type="hidden" name="${name}" value="${safe(value)}">`;
  const to = scheme === undefined ? field('port', String(port)) : field('scheme', scheme);
  return field('state', state) + to;
}

const asker = ({ port, scheme }: CodeWish): string =>
  scheme === 'tinyapp'
    ? 'The app on this phone'
    : `The <code>motebridge</code> command on this computer (port ${port})`;

export function signInPage(wish: CodeWish, why = ''): string {
  const said = why === '' ? '' : `<p class="why" role="alert">${safe(why)}</p>\n`;
  return page(
    'Sign in',
    `<p>${asker(wish)} wants to use this hub. Sign in with your owner token first.</p>\n${said}` +
      `<form method="post" action="/auth/sign-in">${hidden(wish)}` +
      '<label>Owner token<input name="token" type="password" autocomplete="current-password" ' +
      'required autofocus></label><button>Sign in</button></form>',
  );
}

export function consentPage(wish: CodeWish, ownerName: string): string {
  return page(
    'Allow this login?',
    `<p>${asker(wish)} asks to act as <strong>${safe(ownerName)}</strong> for 90 days. ` +
      'It may then do everything that you may. You can take it back at any time.</p>\n' +
      '<p>If you did not just start this yourself, close this page.</p>\n' +
      `<form method="post" action="/auth/cli">${hidden(wish)}` +
      '<button autofocus>Allow</button></form>',
  );
}

export function refusedPage(why: string): string {
  return page(
    'This can’t be done',
    `<p class="why" role="alert">${safe(why)}</p>\n<p>Run <code>motebridge login</code> again.</p>`,
  );
}
