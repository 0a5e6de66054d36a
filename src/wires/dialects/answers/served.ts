import { field } from '../../json/value.ts';
import { type Fields, PARTS } from './figures.ts';

/** Ways with a price of their own, and the words for them. Default tiers have none. */
const WAYS: readonly (readonly [string, RegExp])[] = [
  ['flex', /flex/i],
  ['priority', /priority/i],
  ['batch', /batch/i],
  ['fast', /^(?:fast|optimized)$/im],
  ['us', /^us$/im],
];
/** Objects in the usage that count searches, and their fields. */
const SEARCHES = [
  ['server_tool_use', 'web_search_requests'],
  ['server_side_tool_usage_details', 'web_search_calls'],
] as const;
const NONE = {};

/** Collects how an answer was served, and what it says about its own cost. */
export class ServedAs {
  #tier = '';
  #speed = '';
  #place = '';
  #searches = 0;
  #cost: number | null = null;

  /** Reads an event, or a whole answer. A later event is more exact. */
  addFrom(event: Fields): void {
    this.#add(event);
    for (const name of PARTS) {
      const part = event[name];
      if (typeof part === 'object' && part !== null) this.#add(part as Fields);
    }
    const { serviceTier, usageMetadata, performanceConfig } = event;
    if (serviceTier !== undefined) this.#tier = wordIn(serviceTier, 'type') ?? this.#tier;
    if (usageMetadata !== undefined)
      this.#tier = wordIn(usageMetadata, 'trafficType') ?? wordIn(usageMetadata, 'serviceTier') ?? this.#tier;
    if (performanceConfig !== undefined) this.#speed = wordIn(performanceConfig, 'latency') ?? this.#speed;
  }

  #add({ usage, service_tier: tier, output }: Fields): void {
    if (typeof usage === 'object' && usage !== null) this.#addUsage(usage as Fields);
    if (typeof tier === 'string') this.#tier = tier;
    if (Array.isArray(output)) this.#searches = Math.max(this.#searches, output.filter(isSearch).length);
  }

  #addUsage(usage: Fields): void {
    const { service_tier: tier, speed, inference_geo: place, cost } = usage;
    if (typeof tier === 'string') this.#tier = tier;
    if (typeof speed === 'string') this.#speed = speed;
    if (typeof place === 'string') this.#place = place;
    if (typeof cost === 'number' && Number.isFinite(cost) && cost >= 0) this.#cost = Math.max(this.#cost ?? 0, cost);
    this.#count(usage.web_search_requests);
    this.#count(usage.num_search_queries);
    for (const [name, count] of SEARCHES) if (usage[name] !== undefined) this.#count(field(usage[name], count));
  }

  #count(searches: unknown): void {
    if (typeof searches === 'number' && searches > this.#searches && Number.isFinite(searches))
      this.#searches = searches;
  }

  /** Only what differs from a plain request. */
  get facts(): { readonly served?: readonly string[]; readonly searches?: number; readonly cost?: number } {
    const words = `${this.#tier}\n${this.#speed}\n${this.#place}`;
    if (words.length === 2 && this.#searches === 0 && this.#cost === null) return NONE;
    const served = WAYS.flatMap(([way, pattern]) => (pattern.test(words) ? way : []));
    return {
      ...(served.length > 0 && { served }),
      ...(this.#searches > 0 && { searches: this.#searches }),
      ...(this.#cost !== null && { cost: this.#cost }),
    };
  }
}

function wordIn(value: unknown, name: string): string | undefined {
  const word = field(value, name);
  return typeof word === 'string' ? word : undefined;
}

/** Whether an item is a search of the web; opening a found page is not billed. */
function isSearch(item: unknown): boolean {
  if (field(item, 'type') !== 'web_search_call') return false;
  const action = field(field(item, 'action'), 'type');
  return action === undefined || action === 'search';
}
