import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** The proxy's own keys at the providers, by the field that each takes one in; `null`: it has none there. */
export interface ProviderKeys {
  readonly others: string | null;
  readonly messages: string | null;
}

/** Fields by which a request brings a key of the provider's. */
const BROUGHT = ['authorization', 'x-api-key', 'api-key'] as const;

/**
 * Gives requests that bring no key of the provider's the proxy's own, on their way to where it belongs. A page of somebody
 * else must not spend it.
 *
 * @param wireOf - which provider a request goes to; `null`: none that there is a key of
 */
export function providerKeys(
  keys: ProviderKeys,
  wireOf: (req: IncomingMessage) => keyof ProviderKeys | null,
  isForeign: (headers: IncomingHttpHeaders) => boolean,
): (req: IncomingMessage) => void {
  return (req) => {
    const wire = wireOf(req);
    const key = wire === null ? null : keys[wire];
    if (wire === null || key === null) return;
    if (BROUGHT.some((name) => (req.headers[name] ?? '') !== '') || isForeign(req.headers)) return;
    const [name, value] = wire === 'messages' ? ['x-api-key', key] : ['authorization', `Bearer ${key}`];
    req.headers[name] = value;
    req.rawHeaders.push(name, value);
  };
}
