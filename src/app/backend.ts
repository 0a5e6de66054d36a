import { type OpenScorer, openScorer } from '../backends/open-scorer.ts';
import type { Base } from './storage.ts';

/** The backend that the settings ask for; `null` when the engine ranks alone. */
export function openBackend({ settings, log, clock }: Base): OpenScorer | null {
  const { backend } = settings;
  return openScorer({
    backend,
    deepinfra: {
      endpointUrl: settings.deepinfraEndpointUrl,
      apiKey: settings.deepinfraApiKey,
      timeoutMs: settings.deepinfraTimeoutMs,
      maxDocs: settings.deepinfraMaxDocs,
    },
    swePrunerUrl: settings.swePrunerUrl,
    proxies: settings,
    clock,
    cacheTtlMs: settings.cacheTtlS * 1000,
    cacheMaxItems: settings.cacheMaxItems,
    onFailure: (failure) => log.warn(failure, 'backend failed, ranked without it'),
    onBreaker: (openedBy) => {
      if (openedBy === null) log.info({ backend }, 'backend works again');
      else log.warn({ backend, openedBy }, 'backend left alone for a while');
    },
  });
}
