/** Who is asking: an owner by session or token, a device by its credential, or its gateway. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HubContext } from '../context.js';
import { type DeviceRow, deviceByToken, ownedDevice } from '../devices.js';
import { type Gateway, gatewayByToken } from '../gateways.js';
import type { Owner } from '../owner.js';
import { ownerBySession } from '../owners.js';
import { loginRequired, Refusal } from '../refusal.js';
import { ownerByToken } from '../tokens.js';

export const COOKIE = 'tiny_session';

export function bearerOf(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization;
  if (header === undefined || header.length > 4_096) return undefined;
  return /^bearer +(\S+)$/i.exec(header)?.[1];
}

/** Whether a page of the hub itself asks; undefined where the asker does not say. */
export function fromOwnPage(ctx: HubContext, request: FastifyRequest): boolean | undefined {
  const { origin } = request.headers;
  if (origin === undefined) return undefined;
  return origin === ctx.publicUrl || origin === `${request.protocol}://${request.host}`;
}

/** A page of another origin asks: it must not act with a cookie, nor have one set. */
export function isForeign(ctx: HubContext, request: FastifyRequest): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return false;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return fromOwnPage(ctx, request) === false;
}

/** The session's owner. Where a cookie is present it is the one that counts (A0). */
export function sessionOwner(ctx: HubContext, request: FastifyRequest): Owner | undefined {
  const cookie = request.cookies[COOKIE];
  if (cookie !== undefined) {
    return isForeign(ctx, request) ? undefined : ownerBySession(ctx, cookie);
  }
  const bearer = bearerOf(request);
  const found = bearer === undefined ? undefined : ownerByToken(ctx, bearer);
  return found && { id: found.id, name: found.name };
}

/** For `onRequest`: refuses before the body is looked at (statement 1). */
export function sessionGate(ctx: HubContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { rates } = request.server;
    await rates.address(request, reply);
    const owner = sessionOwner(ctx, request);
    if (!owner) throw loginRequired();
    request.owner = owner;
    await rates.owner(request, reply);
  };
}

/** For `onRequest` where a secret is tried. */
export function loginGate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  return request.server.rates.login(request, reply);
}

export function gatewayGate(ctx: HubContext) {
  return async (request: FastifyRequest): Promise<void> => {
    const bearer = bearerOf(request);
    const gateway = bearer === undefined ? undefined : gatewayByToken(ctx, bearer);
    if (!gateway) throw new Refusal(401, 'unknown gateway');
    request.gateway = gateway;
  };
}

export function ownerOf(request: FastifyRequest): Owner {
  if (!request.owner) throw loginRequired();
  return request.owner;
}

export function gatewayOf(request: FastifyRequest): Gateway {
  if (!request.gateway) throw new Refusal(401, 'unknown gateway');
  return request.gateway;
}

/** Stands in the body for the token that a gateway does not have: its own speaks for the board. */
const BY_GATEWAY = 'by-gateway';

/** For `preValidation` of device routes: a gateway's bearer takes the place of the body's token. */
export function deviceGate(ctx: HubContext) {
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    if (ctx.tinyOnly) return;
    const bearer = bearerOf(request);
    const gateway = bearer === undefined ? undefined : gatewayByToken(ctx, bearer);
    if (!gateway) return;
    request.gateway = gateway;
    const body = request.body;
    const fields = typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
    request.body = { ...fields, token: BY_GATEWAY };
  };
}

/** The device that a body's credential, or its gateway's bearer, speaks for. */
export function deviceOf(
  ctx: HubContext,
  request: FastifyRequest,
  credential: { deviceId: string; token: string },
  refusal: string,
): DeviceRow {
  const { gateway } = request;
  const row = gateway
    ? ownedDevice(ctx, gateway.owner_id, credential.deviceId)
    : deviceByToken(ctx, credential.deviceId, credential.token);
  const good = row && (!gateway || row.gateway_id === gateway.id);
  if (!good) throw new Refusal(401, refusal);
  return row;
}
