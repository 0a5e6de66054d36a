import { headerSecret, httpUrl, oneOf, optional, wholeNumber } from '../rules.ts';
import { DAY_S, MAX_TIMER_MS, setting } from './setting.ts';

export const backendsSettings = {
  backend: setting({
    common: true,
    env: ['MCP_PRUNER_BACKEND', 'KIMI_PRUNING_BACKEND'],
    rule: oneOf(['heuristic', 'deepinfra', 'swe-pruner'], { cloud: 'deepinfra' }),
    fallback: 'heuristic',
    invalidEnvFallback: 'heuristic',
    fallbackWords: 'heuristic, or swe-pruner when swe_pruner_url is set',
    doc: 'What ranks lines: heuristic (local), deepinfra (a cloud service) or swe-pruner (the service at swe_pruner_url).',
  }),
  deepinfraApiKey: setting({
    env: ['DEEPINFRA_API_KEY'],
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Key for the deepinfra backend.',
  }),
  deepinfraEndpointUrl: setting({
    env: ['DEEPINFRA_ENDPOINT_URL'],
    rule: httpUrl(),
    fallback: 'https://api.deepinfra.com/v1/inference/Qwen/Qwen3-Reranker-0.6B',
    doc: 'Rerank endpoint of the deepinfra backend.',
  }),
  deepinfraTimeoutMs: setting({
    env: ['DEEPINFRA_TIMEOUT_MS'],
    rule: wholeNumber(1, MAX_TIMER_MS),
    fallback: 20_000,
    unit: 'ms',
    doc: 'Time limit of a call to the deepinfra backend.',
  }),
  deepinfraMaxDocs: setting({
    env: ['DEEPINFRA_MAX_DOCS'],
    rule: wholeNumber(1, 100_000),
    fallback: 64,
    unit: 'lines',
    doc: 'Maximum number of lines per call to the deepinfra backend.',
  }),
  swePrunerUrl: setting({
    rule: optional(httpUrl()),
    fallback: null,
    fallbackWords: 'none',
    doc: 'Address of the swe-pruner service.',
  }),
  cacheTtlS: setting({
    rule: wholeNumber(0, 365 * DAY_S),
    fallback: 30,
    unit: 's',
    doc: 'How long answers of a remote backend are cached; 0: none.',
  }),
  cacheMaxItems: setting({
    env: ['MCP_PRUNER_CACHE_MAX_ITEMS', 'MCP_PRUNER_CACHE_MAX_ENTRIES'],
    toml: 'cache_max_entries',
    rule: wholeNumber(0, 1_000_000),
    fallback: 256,
    unit: 'answers',
    doc: 'Maximum number of cached answers of a remote backend.',
  }),
};
