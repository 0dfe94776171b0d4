/** The self-hosted hub: one process, one SQLite file, one folder of media. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Database,
  openDatabase,
  openSecrets,
  passingSecrets,
  type Secrets,
} from '../store/index.js';
import type { Agent } from './agent.js';
import { OwnerBus } from './bus.js';
import { type HubClock, HubTime, realClock } from './clock.js';
import type { HubContext, HubLog } from './context.js';
import { migrate } from './db/migrations.js';
import { Endpoints } from './endpoint/calls.js';
import type { Resolve } from './endpoint/resolve.js';
import { GatewayStreams } from './gateway-streams.js';
import { enrolGateway, tellPresence } from './gateways.js';
import { createApp } from './http/app.js';
import type { SseStream } from './http/sse.js';
import type { App } from './http/types.js';
import { type HubLimits, LIMITS } from './limits.js';
import type { Owner } from './owner.js';
import { removeOwner } from './owner-removal.js';
import { createOwner, type OwnerView, owners, ownerViews } from './owners.js';
import type { PushSender } from './push-sender.js';
import { webPush } from './push-sender.js';
import { Refusal } from './refusal.js';
import { sweep } from './retention.js';
import { accountRoutes } from './routes/account.js';
import { askRoutes } from './routes/ask.js';
import { cliLoginRoutes } from './routes/cli-login.js';
import { deviceRoutes } from './routes/devices.js';
import { endpointRoutes } from './routes/endpoint.js';
import { firmwareRoutes } from './routes/firmware.js';
import { gatewayRoutes } from './routes/gateway.js';
import { handoverRoutes } from './routes/handover.js';
import { mcpRoutes } from './routes/mcp.js';
import { mediaRoutes } from './routes/media.js';
import { messageRoutes } from './routes/messages.js';
import { pushRoutes } from './routes/push.js';
import { relayRoutes } from './routes/relay.js';
import { serviceRoutes } from './routes/service.js';
import { sessionRoutes } from './routes/session.js';
import { streamRoutes } from './routes/stream.js';
import { uploadRoutes } from './routes/uploads.js';
import { useDeviceRoutes } from './routes/use-device.js';
import { depositBatch } from './tickets.js';
import { createToken, revokeSecret } from './tokens.js';
import { type UseDeviceReply, type UseDeviceRequest, useDevice } from './use-device.js';
import { Waiters } from './waiters.js';

export interface HubOptions {
  /** Folder for `hub.db`, `hub.key` and `media/`; made where it is missing. */
  home?: string;
  /** In place of `<home>/hub.db`; `:memory:` for a hub that forgets. */
  databaseFile?: string;
  /** In place of `<home>/media`. */
  mediaDir?: string;
  /** An open database in place of a file; the hub closes it. */
  database?: Database;
  clock?: HubClock;
  /** Origin under which people and agents reach the hub, without a path. */
  publicUrl?: string;
  siteName?: string;
  limits?: Partial<HubLimits>;
  /** Serves the tiny routes alone: no gateway protocol, as a foreign server would. */
  tinyOnly?: boolean;
  /**
   * Hosts that firmware may be published from, as `host` or `host:port`. Default: the hub itself
   * where its `publicUrl` is https, else none.
   */
  firmwareHosts?: readonly string[];
  /** Answers what devices ask; without one `POST /api/devices/ask` says that there is none. */
  agent?: Agent;
  /** Hosts (`host` or `host:port`) at which endpoint devices may be though they are private. */
  endpointHosts?: readonly string[];
  /** The same for spoken questions, whose recordings anybody's device may name, at any path. */
  recordingHosts?: readonly string[];
  /** PEM of an authority that is trusted for those hosts, beside the public ones. */
  endpointCa?: string;
  /** Looks names of endpoint devices up in place of DNS, and of the system for allowed hosts. */
  endpointResolve?: Resolve;
  log?: HubLog;
  /** In place of web push under keys in `<home>/push-keys.json`. */
  push?: PushSender;
}

export interface Hub {
  /** For requests without a socket: `hub.app.inject(…)`. */
  readonly app: App;
  /** Port 0 takes a free one. Resolves with the URL it serves on. */
  listen(at: { host?: string; port: number }): Promise<{ url: string; port: number }>;
  /** Ends streams, answers who waits, commits what is queued. May be called twice. */
  close(): Promise<void>;
  owners(): Owner[];
  /** The first owner and a token for it, or undefined where there is an owner already. */
  bootstrap(name?: string): Promise<{ ownerId: string; token: string } | undefined>;
  createOwner(name: string): Promise<{ ownerId: string; token: string }>;
  /** The owners in the order in which they came, with what each has. */
  describeOwners(): OwnerView[];
  /** Takes an owner and everything of the owner's away, for good. */
  removeOwner(ownerId: string): Promise<boolean>;
  createToken(ownerId: string, label: string): Promise<string>;
  revokeToken(token: string): Promise<boolean>;
  enrolGateway(
    ownerId: string,
    name: string,
  ): Promise<{ gateway_id: string; gateway_token: string }>;
  /** The agent's tool; refusals are answered, never thrown. Aborting `signal` takes a call back. */
  useDevice(
    ownerId: string,
    request: UseDeviceRequest,
    signal?: AbortSignal,
  ): Promise<UseDeviceReply>;
  /**
   * Keeps a result of the owner's agents under a ticket `batch_…`, redeemed like a reply. Not
   * served over HTTP. Rejects with `Refusal` for any other ticket and for an unknown owner;
   * false where the ticket had its result already.
   */
  depositBatch(ownerId: string, ticket: string, result: unknown): Promise<boolean>;
  /** What the hub does each minute by itself: reports lost tasks, drops what is past its time. */
  sweep(): Promise<void>;
}

const SWEEP_MS = 60_000;
const silent: HubLog = { info: () => {}, warn: () => {}, error: () => {} };

/** Rejects with `StoreMissing`, `StoreUnavailable` or `SchemaTooNew`; then nothing is open. */
export async function createHub(options: HubOptions): Promise<Hub> {
  const clock = options.clock ?? realClock;
  const mediaDir = options.mediaDir ?? join(options.home ?? '.', 'media');
  const file = options.databaseFile ?? join(options.home ?? '.', 'hub.db');
  if (options.home !== undefined) mkdirSync(options.home, { recursive: true, mode: 0o700 });
  mkdirSync(mediaDir, { recursive: true, mode: 0o700 });
  const db = options.database ?? (await openDatabase(file));
  try {
    const time = new HubTime(clock);
    await migrate(db, time.ms());
    const limits = { ...LIMITS, ...options.limits };
    const ctx: HubContext = {
      db,
      clock,
      time,
      limits,
      log: options.log ?? silent,
      publicUrl: options.publicUrl?.replace(/\/+$/, ''),
      siteName: options.siteName ?? 'Motebridge',
      tinyOnly: options.tinyOnly ?? false,
      mediaDir,
      firmwareHosts: options.firmwareHosts ?? ownHosts(options.publicUrl),
      agent: options.agent,
      bus: new OwnerBus(),
      waiters: new Waiters(),
      streams: new GatewayStreams(clock, time),
      endpoints: new Endpoints({
        clock,
        secrets: await secretsOf(options),
        hosts: options.endpointHosts ?? [],
        recordingHosts: options.recordingHosts ?? [],
        ca: options.endpointCa,
        resolve: options.endpointResolve,
        calls: limits.endpointCalls,
      }),
      push: options.push ?? ownPush(options),
    };
    return await assemble(ctx);
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** A hub that keeps nothing on the disk keeps no key there either. */
async function secretsOf({ home, database, databaseFile }: HubOptions): Promise<Secrets> {
  const onDisk = home !== undefined || (database === undefined && databaseFile === undefined);
  return onDisk ? openSecrets(join(home ?? '.', 'hub.key')) : passingSecrets();
}

function ownPush({ home, publicUrl }: HubOptions): PushSender {
  const named = publicUrl?.startsWith('https:') ? publicUrl : 'mailto:hub@motebridge.invalid';
  return webPush({
    subject: named,
    ...(home === undefined ? {} : { file: join(home, 'push-keys.json') }),
  });
}

async function assemble(ctx: HubContext): Promise<Hub> {
  const open = new Set<SseStream>();
  ctx.streams.onChange = (gatewayId) => tellPresence(ctx, gatewayId);
  const app = await createApp(ctx);
  sessionRoutes(app, ctx);
  accountRoutes(app, ctx);
  cliLoginRoutes(app, ctx);
  deviceRoutes(app, ctx);
  endpointRoutes(app, ctx);
  relayRoutes(app, ctx);
  pushRoutes(app, ctx);
  uploadRoutes(app, ctx);
  mediaRoutes(app, ctx);
  messageRoutes(app, ctx);
  askRoutes(app, ctx);
  firmwareRoutes(app, ctx);
  serviceRoutes(app, ctx);
  useDeviceRoutes(app, ctx);
  streamRoutes(app, ctx, open);
  if (!ctx.tinyOnly) {
    gatewayRoutes(app, ctx, open);
    handoverRoutes(app, ctx);
  }
  const mcp = ctx.tinyOnly ? undefined : mcpRoutes(app, ctx);
  await app.ready();
  // What was lost while the hub was down is reported before anything new comes in.
  await sweep(ctx);
  const stopSweeping = everyMinute(ctx);

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    stopSweeping();
    ctx.waiters.close();
    ctx.endpoints.close();
    ctx.streams.close();
    for (const stream of [...open]) stream.end();
    await mcp?.close();
    await app.close();
    await ctx.db.close();
  };
  return {
    app,
    async listen({ host = '127.0.0.1', port }) {
      const url = await app.listen({ host, port });
      return { url, port: Number(new URL(url).port) };
    },
    close() {
      closing ??= close();
      return closing;
    },
    owners: () => owners(ctx),
    async bootstrap(name = 'owner') {
      return owners(ctx).length > 0 ? undefined : createOwner(ctx, name);
    },
    createOwner: (name) => createOwner(ctx, name),
    describeOwners: () => ownerViews(ctx),
    removeOwner: (ownerId) => removeOwner(ctx, ownerId),
    createToken: async (ownerId, label) => (await createToken(ctx, ownerId, label)).token,
    revokeToken: (token) => revokeSecret(ctx, token),
    async enrolGateway(ownerId, name) {
      const made = await enrolGateway(ctx, ownerId, name);
      return { gateway_id: made.id, gateway_token: made.token };
    },
    async useDevice(ownerId, request, signal) {
      try {
        return await useDevice(ctx, ownerId, request, signal);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { code } = error.flags;
        return {
          ok: false,
          outcome: 'refused',
          error: {
            code: typeof code === 'string' ? code : 'bad_request',
            message: error.message,
          },
        };
      }
    },
    depositBatch: (ownerId, ticket, result) => depositBatch(ctx, ownerId, ticket, result),
    sweep: () => sweep(ctx),
  };
}

function ownHosts(publicUrl: string | undefined): string[] {
  return publicUrl?.startsWith('https://') ? [new URL(publicUrl).host] : [];
}

function everyMinute(ctx: HubContext): () => void {
  let timer: { cancel(): void };
  const next = (): void => {
    timer = ctx.clock.after(SWEEP_MS, () => {
      next();
      void sweep(ctx);
    });
  };
  next();
  return () => timer.cancel();
}
