import { anthropic } from './anthropic.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { type Operation, type Provider, type RequestLine, withoutQuery, withoutVersion } from './provider.ts';

/** Every provider, the most general first: of those that take a request the last one gets it. */
export const providers: readonly [Provider, ...Provider[]] = [openai, anthropic, google];

/** Where a request goes. */
export interface Route {
  readonly provider: Provider;
  /** `null`: forwarded unread. */
  readonly operation: Operation | null;
  /** Path and query to append to the provider's base URL. */
  readonly rest: string;
}

const specificFirst = providers.toReversed();

/** The provider that a request goes to, `null` for one that is not forwarded. */
export function routeOf(line: RequestLine): Route | null {
  const path = withoutQuery(line.url);
  for (const provider of specificFirst) {
    const taken = provider.takes(path, line);
    if (taken === null) continue;
    return { provider, operation: taken === 'forward' ? null : taken, rest: withoutVersion(line.url) };
  }
  return null;
}
