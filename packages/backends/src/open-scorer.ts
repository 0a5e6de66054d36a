import type { Base } from 'mcp-pruner/app/context.ts';
import type { OpenScorer } from 'mcp-pruner/app/guest.ts';
import { DeepInfra } from './deepinfra.ts';
import { JsonPoster } from './post-json.ts';
import { RemoteScorer } from './remote-scorer.ts';
import { SwePruner } from './swe-pruner.ts';

/** Maximum time of a call to a service without a time-out setting; callers usually set a lower limit. */
const LONGEST_CALL_MS = 300_000;

/** Opens the configured remote backend. */
export function openBackend({ settings, log, clock }: Base): OpenScorer {
  const { backend } = settings;
  const poster = new JsonPoster(settings.networkProxies);
  const service =
    backend === 'deepinfra'
      ? new DeepInfra({
          endpointUrl: settings.deepinfraEndpointUrl,
          apiKey: settings.deepinfraApiKey,
          timeoutMs: settings.deepinfraTimeoutMs,
          maxDocs: settings.deepinfraMaxDocs,
          poster,
        })
      : new SwePruner({ url: settings.swePrunerUrl, timeoutMs: LONGEST_CALL_MS, poster });
  const scorer = new RemoteScorer(service, {
    clock,
    cacheTtlMs: settings.cacheTtlS * 1000,
    cacheMaxItems: settings.cacheMaxItems,
    onFailure: (failure) => log.warn(failure, 'backend failed, ranked without it'),
    onBreaker: (openedBy) => {
      if (openedBy === null) log.info({ backend }, 'backend works again');
      else log.warn({ backend, openedBy }, 'backend keeps failing, not asked for a while');
    },
  });
  return Object.assign(scorer, { close: () => poster.close() });
}
