import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Provider } from '../../wires/providers/provider.ts';
import type { Destinations } from '../upstream/destinations.ts';

/** Headers in which a client sends its own provider key. */
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'api-key'] as const;

/**
 * Adds the proxy's own provider key to requests without one, for that provider only. Pages of other origins must not
 * use it.
 *
 * @param keys - `null`: the proxy has no key of that provider
 */
export function providerKeys(
  keys: Readonly<Record<NonNullable<Provider['ownKey']>['key'], string | null>>,
  destinations: Pick<Destinations, 'routeOf'>,
  isForeign: (headers: IncomingHttpHeaders) => boolean,
): (req: IncomingMessage) => void {
  return (req) => {
    const ownKey = destinations.routeOf(req)?.provider.ownKey;
    const key = ownKey === undefined ? null : keys[ownKey.key];
    if (ownKey === undefined || key === null) return;
    if (CREDENTIAL_HEADERS.some((name) => (req.headers[name] ?? '') !== '') || isForeign(req.headers)) return;
    const [name, value] = ownKey.field(key);
    req.headers[name] = value;
    const { rawHeaders } = req;
    // an empty line of the client would be forwarded next to the key
    for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
      if (rawHeaders[i]?.toLowerCase() === name.toLowerCase()) rawHeaders.splice(i, 2);
    }
    rawHeaders.push(name, value);
  };
}
