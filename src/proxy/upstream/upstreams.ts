import { LRUCache } from 'lru-cache';
import { type ProxySettings, routeTo } from '../../core/proxy-route.ts';
import type { Hops } from './hops.ts';
import { Upstream } from './upstream.ts';

export interface UpstreamsOptions extends ProxySettings {
  readonly upstreamHeadersTimeoutMs: number;
  readonly upstreamBodyTimeoutMs: number;
}

const MAX_OPEN = 64;

/** The upstreams in use, by base URL: requests to the same one share its connections. */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #hops: Hops;
  /** Cloud hosts depend on requests, so the least recently used are closed. */
  readonly #open = new LRUCache<string, Upstream>({ max: MAX_OPEN, dispose: (upstream) => upstream.retire() });

  constructor(options: UpstreamsOptions, hops: Hops) {
    this.#options = options;
    this.#hops = hops;
  }

  /** @param url - the base URL of a provider, such as `https://api.openai.com/v1` */
  at(url: string): Upstream {
    let upstream = this.#open.get(url);
    if (upstream === undefined) {
      const { upstreamHeadersTimeoutMs: headersTimeoutMs, upstreamBodyTimeoutMs: bodyTimeoutMs } = this.#options;
      upstream = new Upstream({
        url,
        headersTimeoutMs,
        bodyTimeoutMs,
        way: routeTo(url, this.#options),
        hops: this.#hops,
      });
      this.#open.set(url, upstream);
    }
    return upstream;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((upstream) => upstream.close()));
  }
}
