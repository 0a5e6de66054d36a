import { field, finiteNumber } from '../../json/value.ts';
import { paths, valuesAt } from './figures.ts';

/** Where an event or a whole answer says how it was served, on all wires. A later event is more exact. */
const TIERS = paths(
  `usage.service_tier message.usage.service_tier response.usage.service_tier service_tier response.service_tier
  serviceTier.type usageMetadata.serviceTier usageMetadata.trafficType`,
);
const SPEEDS = paths('usage.speed message.usage.speed response.usage.speed performanceConfig.latency');
const PLACES = paths('usage.inference_geo message.usage.inference_geo response.usage.inference_geo');
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
  #tier = '';
  #speed = '';
  #place = '';
  #searches = 0;
  #cost: number | null = null;

  addFrom(event: object): void {
    this.#tier = wordIn(event, TIERS) ?? this.#tier;
    this.#speed = wordIn(event, SPEEDS) ?? this.#speed;
    this.#place = wordIn(event, PLACES) ?? this.#place;
    for (const count of valuesAt(event, SEARCHES)) this.#searches = Math.max(this.#searches, finiteNumber(count) ?? 0);
    for (const items of valuesAt(event, OUTPUTS)) {
      if (Array.isArray(items)) this.#searches = Math.max(this.#searches, items.filter(isSearch).length);
    }
    for (const value of valuesAt(event, COSTS)) {
      const cost = finiteNumber(value);
      if (cost !== null && cost >= 0) this.#cost = Math.max(this.#cost ?? 0, cost);
    }
  }

  /** Only what differs from a plain request. */
  get facts(): { readonly served?: readonly string[]; readonly searches?: number; readonly cost?: number } {
    const words = [this.#tier, this.#speed, this.#place].filter(Boolean);
    const served = WAYS.flatMap(([way, pattern]) => (words.some((word) => pattern.test(word)) ? way : []));
    return {
      ...(served.length > 0 && { served }),
      ...(this.#searches > 0 && { searches: this.#searches }),
      ...(this.#cost !== null && { cost: this.#cost }),
    };
  }
}

function wordIn(event: object, places: Parameters<typeof valuesAt>[1]): string | undefined {
  let last: string | undefined;
  for (const word of valuesAt(event, places)) if (typeof word === 'string') last = word;
  return last;
}

/** Whether an item is a search of the web; opening a found page is not billed. */
function isSearch(item: unknown): boolean {
  if (field(item, 'type') !== 'web_search_call') return false;
  const action = field(field(item, 'action'), 'type');
  return action === undefined || action === 'search';
}
