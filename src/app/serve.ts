import type { Settings } from '../config/settings.ts';
import { isForeign } from '../core/web-origin.ts';
import { listen } from '../proxy/server.ts';
import { type Base, callersOf, openContext, withoutAddresses } from './context.ts';

/** A server that runs. */
export interface RunningServer {
  /** Where it listens, without a path. */
  readonly url: string;
  /** Why the store cannot be used now, in one sentence; `null` if it can. */
  storeProblem(): string | null;
  /** Refuses new requests, lets running ones finish within the drain limit, and releases all resources. */
  close(): Promise<void>;
}

export type HttpParts = Omit<Base, 'settings' | 'clock'> & Partial<Pick<Base, 'clock'>>;

/**
 * Builds the HTTP server from its settings and starts it. The port opens, and `/health` answers, after the first
 * attempt to open the store. Requests that arrive before the rest is loaded wait for it.
 *
 * @throws the error of `listen` (`EADDRINUSE`, …). A store that cannot be opened does not stop the start: requests then
 * go through unpruned, the log says why, and pruning begins when the store is back.
 */
export async function startHttp(settings: Settings, { clock, ...parts }: HttpParts): Promise<RunningServer> {
  const context = await openContext({ settings, ...parts, clock: clock ?? { nowMs: () => Date.now() } });
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
