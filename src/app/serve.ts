import type { Settings } from '../config/settings.ts';
import { isForeign } from '../core/web-origin.ts';
import { UserError } from '../errors/errors.ts';
import { listen } from '../proxy/server.ts';
import { type Base, type Context, callersOf, openContext, withoutAddresses } from './context.ts';

/** A running server. */
export interface RunningServer {
  /** Listening address, as a URL without a path. */
  readonly url: string;
  /** Why the store is currently unusable, in one sentence; otherwise `null`. */
  storeProblem(): string | null;
  /** Refuses new requests, lets running ones finish within the drain limit, and releases all resources. */
  close(): Promise<void>;
}

type HttpParts = Omit<Base, 'settings' | 'clock'> & Partial<Pick<Base, 'clock'>>;

/**
 * Builds and starts the HTTP server. The port opens, and `/health` answers, after the first attempt to open the store.
 * Requests that arrive before the rest is loaded wait for it.
 *
 * @throws the error of `listen` (`EADDRINUSE`, …); UserError if a later version has changed the store. An unavailable store does not prevent the start: requests are
 * forwarded unpruned, the reason is logged, and pruning begins once the store is available.
 */
export async function startHttp(settings: Settings, { clock, ...parts }: HttpParts): Promise<RunningServer> {
  const context = await openContext({ settings, ...parts, clock: clock ?? { nowMs: () => Date.now() } });
  await refuseNewerStore(context);
  let health = () => context.health();
  let ready = () => false;
  const callers = callersOf(settings);
  const server = await listen({
    health: (headers) => {
      const { host, origin, 'sec-fetch-site': secFetchSite } = headers;
      return isForeign({ host, origin, secFetchSite }, callers) ? withoutAddresses(health()) : health();
    },
    ready: () => ready(),
    host: settings.host,
    port: settings.port,
    drainTimeoutMs: settings.drainTimeoutMs,
  }).catch(async (cause: unknown) => {
    await context.store.close();
    throw cause;
  });
  const port = Number(new URL(server.url).port);
  const routes = await import('./routes.ts')
    .then(({ openRoutes }) => openRoutes(context, port))
    .catch(async (cause: unknown) => {
      await server.close();
      await context.store.close();
      throw cause;
    });
  health = () => routes.health();
  ready = () => routes.ready();
  server.serve(routes);
  await routes.loaded;
  return {
    url: server.url,
    storeProblem: () => context.store.problem()?.message ?? null,
    async close() {
      routes.endStreams();
      await routes.stopChildren();
      await server.close();
      await routes.close();
    },
  };
}

/** Without its records, conversations that were cut before would be sent with another history. */
async function refuseNewerStore({ store, settings }: Context): Promise<void> {
  const problem = store.problem();
  if (problem?.reason !== 'newer_schema' || settings.newerStore === 'raw') return;
  await store.close();
  throw new UserError(`${problem.message}; MCP_PRUNER_NEWER_STORE=raw forwards all requests unpruned on purpose`);
}
