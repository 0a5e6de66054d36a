import { field, finiteNumber } from '../../json/value.ts';
import { paths, valueAt } from './figures.ts';

/** Where an event or a whole answer says how it was served, on all wires. A later event is more exact. */
const PLACES = {
  tier: paths(
    `usage.service_tier message.usage.service_tier response.usage.service_tier service_tier response.service_tier
    serviceTier.type usageMetadata.serviceTier usageMetadata.trafficType`,
  ),
  speed: paths('usage.speed message.usage.speed response.usage.speed performanceConfig.latency'),
  place: paths('usage.inference_geo message.usage.inference_geo response.usage.inference_geo'),
} as const;
/** Ways with a price of their own, and the words for them. Default tiers have none. */
const WAYS: readonly (readonly [string, RegExp])[] = [
  ['flex', /flex/i],
  ['priority', /priority/i],
  ['batch', /batch/i],
  ['fast', /^(?:fast|optimized)$/i],
  ['us', /^us$/i],
];
const SEARCHES = paths(
  `usage.server_tool_use.web_search_requests message.usage.server_tool_use.web_search_requests
  response.usage.server_tool_use.web_search_requests usage.web_search_requests response.usage.web_search_requests
  usage.num_search_queries usage.server_side_tool_usage_details.web_search_calls
  response.usage.server_side_tool_usage_details.web_search_calls`,
);
const OUTPUTS = paths('output response.output');
const COSTS = paths('usage.cost response.usage.cost message.usage.cost');

/** Collects how an answer was served, and what it says about its own cost. */
export class ServedAs {
  readonly #ways = new Map<string, string>();
  #searches = 0;
  #cost: number | null = null;

  /** Reads an event, or a whole answer. */
  addFrom(event: object): void {
    for (const [kind, places] of Object.entries(PLACES)) {
      for (const path of places) {
        const word = valueAt(event, path);
        if (typeof word === 'string') this.#ways.set(kind, word);
      }
    }
    for (const path of SEARCHES) this.#searches = Math.max(this.#searches, finiteNumber(valueAt(event, path)) ?? 0);
    for (const path of OUTPUTS) {
      const items = valueAt(event, path);
      if (Array.isArray(items)) this.#searches = Math.max(this.#searches, items.filter(isSearch).length);
    }
    for (const path of COSTS) {
      const cost = finiteNumber(valueAt(event, path));
      if (cost !== null && cost >= 0) this.#cost = Math.max(this.#cost ?? 0, cost);
    }
  }

  /** Only what differs from a plain request. */
  get facts(): { readonly served?: readonly string[]; readonly searches?: number; readonly cost?: number } {
    const words = [...this.#ways.values()];
    const served = WAYS.flatMap(([way, pattern]) => (words.some((word) => pattern.test(word)) ? way : []));
    return {
      ...(served.length > 0 && { served }),
      ...(this.#searches > 0 && { searches: this.#searches }),
      ...(this.#cost !== null && { cost: this.#cost }),
    };
  }
}

/** Whether an item is a search of the web; opening a found page is not billed. */
function isSearch(item: unknown): boolean {
  if (field(item, 'type') !== 'web_search_call') return false;
  const action = field(field(item, 'action'), 'type');
  return action === undefined || action === 'search';
}
