/**
 * Consent login of a command line (wire document, part A10): the page that asks the owner, the
 * same as JSON, and the exchange of its code. The page is forms only, so it needs no script.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  AUTH_SAID,
  authCliReply,
  authCliRequest,
  authTokenReply,
  authTokenRequest,
  refusal,
} from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import {
  COOKIE,
  fromOwnPage,
  loginGate,
  ownerOf,
  sessionGate,
  sessionOwner,
} from '../http/auth.js';
import type { App } from '../http/types.js';
import { type CodeWish, exchangeCode, issueCode } from '../login.js';
import { openSession, SESSION_S } from '../owners.js';
import { Refusal } from '../refusal.js';
import { ownerByToken } from '../tokens.js';
import { consentPage, pagePolicy, refusedPage, signInPage } from './cli-login-page.js';
import { cookieOptions } from './session.js';

const down = { status: 503 };

export function cliLoginRoutes(app: App, ctx: HubContext): void {
  app.post(
    '/api/auth/cli',
    {
      config: { down },
      onRequest: sessionGate(ctx),
      schema: { body: authCliRequest, response: { 200: authCliReply, 400: refusal, 403: refusal } },
    },
    async (request) => {
      // A form of any page can send this with the cookie; only our own page may.
      if (request.cookies[COOKIE] !== undefined && fromOwnPage(ctx, request) !== true) {
        throw new Refusal(403, 'this is for the hub’s own page; nothing was allowed');
      }
      const redirect = await issueCode(ctx, ownerOf(request), request.body);
      return { ok: true as const, redirect };
    },
  );

  app.post(
    '/api/auth/cli/token',
    {
      config: { down },
      onRequest: loginGate,
      schema: {
        body: authTokenRequest,
        response: { 200: authTokenReply, 400: refusal, 401: refusal },
      },
    },
    async (request) => {
      const { code, state } = request.body;
      const { token, owner, expires } = await exchangeCode(ctx, code, state);
      const { id, name } = owner;
      return { ok: true as const, token, user: { id, login: name, name, avatar: null }, expires };
    },
  );

  // Apart from the rest: no other route reads the bodies of forms.
  app.register(async (pages) => {
    pages.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    pageRoutes(pages as App, ctx);
  });
}

/** What the page was opened for, or the sentence why it can't be. */
function wishOf(fields: unknown): CodeWish | string {
  const parsed = authCliRequest.safeParse(fields);
  return parsed.success ? parsed.data : (parsed.error.issues[0]?.message ?? AUTH_SAID.state);
}

function pageRoutes(app: App, ctx: HubContext): void {
  const schema = { hide: true };

  const show = (reply: FastifyReply, status: number, html: string, wish?: CodeWish): FastifyReply =>
    reply
      .status(status)
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', pagePolicy(wish))
      // With `no-referrer` a browser would send the form's origin as `null`.
      .header('referrer-policy', 'same-origin')
      .send(html);
  const refuse = (reply: FastifyReply, why: string, status = 400): FastifyReply =>
    show(reply, status, refusedPage(why));
  const own = (request: FastifyRequest): boolean => fromOwnPage(ctx, request) === true;
  const FOREIGN = 'This form came from another page. Nothing was allowed.';

  app.get('/auth/cli', { config: { down }, schema }, async (request, reply) => {
    const wish = wishOf(request.query);
    if (typeof wish === 'string') return refuse(reply, `The address is not complete: ${wish}.`);
    const owner = request.cookies[COOKIE] === undefined ? undefined : sessionOwner(ctx, request);
    const html = owner === undefined ? signInPage(wish) : consentPage(wish, owner.name);
    return show(reply, 200, html, wish);
  });

  const onRequest = loginGate;
  app.post('/auth/sign-in', { config: { down }, onRequest, schema }, async (request, reply) => {
    if (!own(request)) return refuse(reply, FOREIGN, 403);
    const fields = request.body as Record<string, unknown> | undefined;
    const wish = wishOf(fields);
    if (typeof wish === 'string') return refuse(reply, `The address is not complete: ${wish}.`);
    const token = typeof fields?.token === 'string' ? fields.token.trim() : '';
    const found = ownerByToken(ctx, token);
    if (!found) return show(reply, 401, signInPage(wish, 'This token opens nothing here.'), wish);
    const secret = await openSession(ctx, found);
    reply.setCookie(COOKIE, secret, { ...cookieOptions(ctx), maxAge: SESSION_S });
    return reply.redirect(`/auth/cli?${queryOf(wish)}`, 303);
  });

  app.post('/auth/cli', { config: { down }, onRequest, schema }, async (request, reply) => {
    if (!own(request)) return refuse(reply, FOREIGN, 403);
    const wish = wishOf(request.body);
    if (typeof wish === 'string') return refuse(reply, `The address is not complete: ${wish}.`);
    const owner = request.cookies[COOKIE] === undefined ? undefined : sessionOwner(ctx, request);
    if (!owner) return show(reply, 401, signInPage(wish, 'Sign in first.'), wish);
    return reply.redirect(await issueCode(ctx, owner, wish), 303);
  });
}

export function queryOf(wish: CodeWish): string {
  const query = new URLSearchParams({ state: wish.state });
  if (wish.scheme !== undefined) query.set('scheme', wish.scheme);
  else query.set('port', String(wish.port));
  return query.toString();
}
