import type { IncomingHttpHeaders } from 'node:http';

const NAME = 'mcp-pruner-';
/** More proxies of this kind in a row form a loop through other machines. */
const MAX_HOPS = 8;

/**
 * Detects requests that have passed this proxy before, by `Via` (RFC 9110 §7.6.3): an upstream may lead back to the
 * proxy.
 */
export class Hops {
  /** This proxy's entry in `via`. */
  readonly own: string;

  /** @param id - unique id of this process */
  constructor(id: string) {
    this.own = `1.1 ${NAME}${id}`;
  }

  isCircle({ via }: IncomingHttpHeaders): boolean {
    if (via === undefined || !via.includes(NAME)) return false;
    const hops = via.split(',', 100).filter((hop) => hop.includes(NAME));
    return hops.length >= MAX_HOPS || hops.some((hop) => hop.trim() === this.own);
  }

  /** The complete `via` for the upstream. */
  next({ via }: IncomingHttpHeaders): string {
    return via === undefined ? this.own : `${via}, ${this.own}`;
  }
}
