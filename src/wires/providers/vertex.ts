import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import type { Purpose } from '../dialects/dialect.ts';
import { googleGemini } from '../dialects/google-gemini/dialect.ts';
import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { facts } from './facts.ts';
import type { Operation, Provider } from './provider.ts';

/**
 * Matches paths of a project's locations, and of a publisher (used with a Vertex AI API key). Other project paths
 * belong to OpenAI, which also has `/v1/projects/…`.
 */
const VERTEX = /^\/v1(?:beta1)?\/(?:projects\/[^/]+\/locations|publishers)(?:\/|$)/;
const MODEL = /\/publishers\/(anthropic|google)\/models\/([^/:]+):([a-zA-Z]+)$/;
const CHAT = /\/endpoints\/[^/]+\/chat\/completions$/;
const LOCATION = /\/locations\/([a-z]{2,20}(?:-[a-z]{1,20}){0,3}\d{0,2})(?:\/|$)/;

/**
 * Google Cloud's Vertex AI: Claude by `rawPredict`, Gemini, and its endpoint in OpenAI's format. Other publishers and
 * operations are forwarded unread.
 * Sources: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude,
 * https://docs.cloud.google.com/vertex-ai/docs/reference/rest
 */
export const vertex: Provider = {
  ...facts.vertex,
  dialects: [googleGemini, anthropicMessages, openaiChat],
  takes(path, { method, url }) {
    if (!VERTEX.test(path)) return null;
    return { operation: method === 'POST' ? operationAt(path) : null, rest: url };
  },
  baseUrl(path, _line, { vertexUrl }) {
    if (vertexUrl !== null) return vertexUrl;
    const location = path.startsWith('/v1/publishers/') || path.startsWith('/v1beta1/publishers/') ? 'global' : null;
    return hostOf(location ?? LOCATION.exec(path)?.[1]);
  },
};

/** Multi-region locations, which have different host names. */
const MULTI_REGIONS = new Set(['us', 'eu']);

function hostOf(location: string | undefined): string | null {
  if (location === undefined) return null;
  if (location === 'global') return 'https://aiplatform.googleapis.com';
  return MULTI_REGIONS.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`;
}

function operationAt(path: string): Operation | null {
  // `:` and `@` are allowed in a path, but some clients escape them
  const plain = path.replace(/%3a/gi, ':').replace(/%40/gi, '@');
  if (CHAT.test(plain)) return { dialect: openaiChat, purpose: 'generate' };
  const [, publisher, model = '', verb = ''] = MODEL.exec(plain) ?? [];
  if (publisher === 'anthropic') return claudeOperation(model, verb);
  const purpose = publisher === 'google' ? GEMINI.get(verb) : undefined;
  return purpose === undefined
    ? null
    : { dialect: googleGemini, purpose, model, stream: verb === 'streamGenerateContent' };
}

function claudeOperation(model: string, verb: string): Operation | null {
  if (verb !== 'rawPredict' && verb !== 'streamRawPredict') return null;
  // in count requests, the path contains `count-tokens` instead of the model, which is named in the body
  if (model === 'count-tokens') return { dialect: anthropicMessages, purpose: 'count' };
  return { dialect: anthropicMessages, purpose: 'generate', model, stream: verb === 'streamRawPredict' };
}

const GEMINI = new Map<string, Purpose>([
  ['generateContent', 'generate'],
  ['streamGenerateContent', 'generate'],
  ['countTokens', 'count'],
]);
