import type { LineScorer } from '../core/ports.ts';
import { DeepInfra, type DeepInfraOptions } from './deepinfra.ts';
import { JsonPoster, type Proxies } from './post-json.ts';
import { RemoteScorer, type RemoteScorerOptions } from './remote-scorer.ts';
import { SwePruner } from './swe-pruner.ts';

export interface OpenScorer extends LineScorer {
  /** `ok`, `not_configured` or `circuit_open`. */
  readonly state: string;
  close(): Promise<void>;
}

interface OpenScorerOptions extends RemoteScorerOptions {
  readonly backend: 'heuristic' | 'deepinfra' | 'swe-pruner';
  readonly deepinfra: Omit<DeepInfraOptions, 'poster'>;
  readonly swePrunerUrl: string | null;
  readonly proxies?: Proxies;
}

/** Maximum time of a call to a service without a time-out setting; callers usually set a lower limit. */
const LONGEST_CALL_MS = 300_000;

/** The configured backend; `null` for the engine's own ranking, which makes no calls. */
export function openScorer(options: OpenScorerOptions): OpenScorer | null {
  const { backend, deepinfra, swePrunerUrl } = options;
  if (backend === 'heuristic') return null;
  const poster = new JsonPoster(options.proxies);
  const service =
    backend === 'deepinfra'
      ? new DeepInfra({ ...deepinfra, poster })
      : new SwePruner({ url: swePrunerUrl, timeoutMs: LONGEST_CALL_MS, poster });
  return Object.assign(new RemoteScorer(service, options), { close: () => poster.close() });
}
