import type { Settings } from './config/settings.ts';
import type { Clock } from './core/ports.ts';
import { openKept } from './kept.ts';
import type { Log } from './observe/log.ts';
import { listen } from './proxy/server.ts';

/** A server that runs. */
export interface RunningApp {
  /** Where it listens, without a path. */
  readonly url: string;
  /** Refuses new requests, lets those under way finish within the drain limit, and lets go of everything. */
  close(): Promise<void>;
}

export interface AppParts {
  readonly log: Log;
  readonly version: string;
  readonly clock?: Clock;
}

/**
 * Builds the server from its settings and starts it. The port opens, and `/health` answers, once the store was tried;
 * what comes before the rest is loaded waits for it.
 *
 * @throws the error of `listen` (`EADDRINUSE`, …). A store that cannot be opened does not stop the start: requests
 * then go through unpruned, the log says why, and pruning begins when the store is back.
 */
export async function startApp(settings: Settings, { log, version, ...given }: AppParts): Promise<RunningApp> {
  const parts = { log, version, clock: given.clock ?? { nowMs: () => Date.now() } };
  const kept = openKept(settings, parts);
  let health = () => kept.health();
  const server = await listen({
    health: () => health(),
    host: settings.host,
    port: settings.port,
    drainTimeoutMs: settings.drainTimeoutMs,
  }).catch(async (cause: unknown) => {
    await kept.store.close();
    throw cause;
  });
  const port = Number(new URL(server.url).port);
  const routes = await import('./routes.ts')
    .then(({ openRoutes }) => openRoutes(settings, parts, kept, port))
    .catch(async (cause: unknown) => {
      await server.close();
      await kept.store.close();
      throw cause;
    });
  health = () => routes.health();
  server.serve(routes);
  return {
    url: server.url,
    async close() {
      await server.close();
      await routes.close();
    },
  };
}
