import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Provider } from '../../wires/providers/provider.ts';
import type { Destinations } from '../upstream/destinations.ts';

/** Headers in which a client sends its own provider key. */
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'api-key'] as const;

/**
 * Adds the proxy's own provider key to requests without one, never for pages of other origins. Such a request asks for
 * an uncompressed answer, so that an echoed key can be masked.
 *
 * @param keys - `null` if the proxy has no key of that provider
 * @returns a function that returns the key it added to a request, or `null`
 */
export function providerKeys(
  keys: Readonly<Record<NonNullable<Provider['ownKey']>['key'], string | null>>,
  destinations: Pick<Destinations, 'routeOf'>,
  isForeign: (headers: IncomingHttpHeaders) => boolean,
): (req: IncomingMessage) => string | null {
  return (req) => {
    const ownKey = destinations.routeOf(req)?.provider.ownKey;
    const key = ownKey === undefined ? null : keys[ownKey.key];
    if (ownKey === undefined || key === null) return null;
    if (CREDENTIAL_HEADERS.some((name) => (req.headers[name] ?? '') !== '') || isForeign(req.headers)) return null;
    setHeader(req, ...ownKey.field(key));
    setHeader(req, 'accept-encoding', 'identity');
    return key;
  };
}

/** Replaces all lines of a header, even if empty. */
function setHeader({ headers, rawHeaders }: IncomingMessage, name: string, value: string): void {
  headers[name.toLowerCase()] = value;
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (rawHeaders[i]?.toLowerCase() === name.toLowerCase()) rawHeaders.splice(i, 2);
  }
  rawHeaders.push(name, value);
}
