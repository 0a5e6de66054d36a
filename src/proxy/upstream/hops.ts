import type { IncomingHttpHeaders } from 'node:http';

const NAME = 'mcp-pruner-';
/** More proxies of this kind in a row are a circle that somebody else is part of. */
const MAX_HOPS = 8;

/**
 * Knows requests that have been here before, by `Via` (RFC 9110 §7.6.3): an upstream may lead back to the proxy by ways
 * that nobody sees.
 */
export class Hops {
  /** What the upstream is told in `via`. */
  readonly own: string;

  /** @param id - of this process, unlike any other's */
  constructor(id: string) {
    this.own = `1.1 ${NAME}${id}`;
  }

  isCircle({ via }: IncomingHttpHeaders): boolean {
    if (via === undefined || !via.includes(NAME)) return false;
    const hops = via.split(',', 100).filter((hop) => hop.includes(NAME));
    return hops.length >= MAX_HOPS || hops.some((hop) => hop.trim() === this.own);
  }

  /** The whole of `via` for the upstream. */
  next({ via }: IncomingHttpHeaders): string {
    return via === undefined ? this.own : `${via}, ${this.own}`;
  }
}
