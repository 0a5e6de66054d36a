import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { googleGemini } from '../dialects/google-gemini/dialect.ts';
import { googleInteractions } from '../dialects/google-interactions/dialect.ts';
import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { facts } from './facts.ts';
import {
  belowBase,
  belowVersion,
  type CloudSettings,
  isBelow,
  operationOf,
  type Provider,
  type RequestLine,
  type Taken,
  withoutQuery,
} from './provider.ts';
import { vertex } from './vertex.ts';

/** OpenAI and all providers with the same formats. All other paths below `/v1` are forwarded here too. */
export const openai: Provider = {
  ...facts.openai,
  dialects: [openaiChat, openaiResponses],
  takes(path, line) {
    // Ollama's own API is next to its /v1
    if (path === '/api/chat') return { operation: null, rest: line.url, toOrigin: true };
    const operation = operationOf(openaiChat, line.method, path) ?? operationOf(openaiResponses, line.method, path);
    return operation || isBelow(path, '/v1') ? belowVersion(operation, line) : null;
  },
};

const google: Provider = {
  ...facts.google,
  dialects: [googleGemini, googleInteractions],
  takes(path, line, { geminiUrl }) {
    const operation =
      operationOf(googleGemini, line.method, path) ?? operationOf(googleInteractions, line.method, path);
    return operation || isBelow(path, '/v1beta') ? belowBase(operation, line, geminiUrl) : null;
  },
};

/** Anthropic, recognised by the path of the messages wire, or by the header `anthropic-version` on other requests. */
const anthropic: Provider = {
  ...facts.anthropic,
  dialects: [anthropicMessages],
  takes(path, line, { anthropicUrl }) {
    if (!isBelow(path, '/v1')) return null;
    const operation = operationOf(anthropicMessages, line.method, path);
    if (operation === null) {
      // an Anthropic SDK may be used with OpenAI's formats
      if (OPENAI.some((dialect) => dialect.claims(line.method, path) !== null)) return null;
      if (line.headers['anthropic-version'] === undefined && !isBelow(path, '/v1/messages')) return null;
    }
    return belowBase(operation, line, anthropicUrl);
  },
};

const OPENAI = [openaiChat, openaiResponses];

/** All providers, the most general first. If several match a request, the last configured one gets it. */
export const providers: readonly [Provider, ...Provider[]] = [openai, anthropic, google, vertex, azure, bedrock];

export interface Route extends Taken {
  readonly provider: Provider;
  /** `null` if the provider needs a setting that is not set. */
  readonly baseUrl: string | null;
  /** The dropped part before the provider's own path; absent if there was none. */
  readonly prefix?: string;
}

const specificFirst = providers.toReversed();

/** Clients repeat the version if both base URL and path contain one: `/v1/v1/messages`. */
const REPEATED_VERSION = /^(?:\/v1)+(?=\/v1\/)/;

/** Resolves the destination of a request; `null` if no provider matches. */
export function routeOf(line: RequestLine, settings: CloudSettings): Route | null {
  const url = line.url.replace(REPEATED_VERSION, '');
  if (url !== line.url) {
    const route = routeOf({ ...line, url }, settings);
    return route && { ...route, prefix: '/v1' };
  }
  const isOpen = ({ key, baseUrl }: Provider): boolean => settings[key] !== null || baseUrl !== undefined;
  return (
    firstRoute(line, settings, specificFirst.filter(isOpen)) ??
    longerRoute(line, settings) ??
    firstRoute(line, settings, specificFirst)
  );
}

function firstRoute(line: RequestLine, settings: CloudSettings, among: readonly Provider[]): Route | null {
  const path = withoutQuery(line.url);
  for (const provider of among) {
    const taken = provider.takes(path, line, settings);
    if (taken === null) continue;
    const baseUrl = provider.baseUrl ? provider.baseUrl(path, line, settings) : settings[provider.key];
    return { ...taken, provider, baseUrl };
  }
  return null;
}

/** Paths of the proxy itself that contain secrets. */
const SECRET = /^\/(?:k|child)\//;
const OWN = /^\/(?:rpc|mcp|prune|page|health|metrics)\//;
/** Further paths that clients request from a gateway. */
const KNOWN = /^\/v1\/(?:models(?:\/[^/]+)?|embeddings|completions)$/;

/** Resolves a gateway path such as `/api/v1/chat/completions`: the provider's own path begins at the last version. */
function longerRoute(line: RequestLine, settings: CloudSettings): Route | null {
  const path = withoutQuery(line.url);
  const version = Math.max(path.lastIndexOf('/v1/'), path.lastIndexOf('/v1beta/'));
  if (version <= 0 || SECRET.test(path)) return null;
  const prefix = path.slice(0, version);
  const known = path.slice(version);
  const url = line.url.slice(version);
  const route = firstRoute({ ...line, url }, settings, [google, anthropic, openai]);
  return route && (route.operation || (KNOWN.test(known) && !OWN.test(path))) ? { ...route, prefix } : null;
}
