import type { Dialect, Purpose } from '../dialect.ts';
import { scanGeminiBody } from './scan.ts';

/**
 * `POST …/models/<model>:generateContent` as Google defined it, spoken by Gemini CLI and the GenAI SDKs. The path
 * contains the model and whether the answer is streamed. Thought signatures are returned unchanged; results are not
 * verified.
 */
export const googleGemini: Dialect = {
  name: 'gemini',
  verifiesHistory: 'never',
  keepsHistory: 'never',
  claims(method, path) {
    if (method !== 'POST' || !BASE.test(path) || !path.includes('/models/')) return null;
    return PURPOSES.get(path.slice(path.lastIndexOf(':') + 1)) ?? null;
  },
  namedIn(path) {
    const colon = path.lastIndexOf(':');
    const model = path.slice(path.lastIndexOf('/', colon) + 1, colon).slice(0, MAX_MODEL_CHARS);
    return { model, stream: path.endsWith(':streamGenerateContent') };
  },
  scan: scanGeminiBody,
  walk: { list: 'contents', model: 'model', roles: new Set(['model']), aside: new Set() },
  error: (status, code, message) =>
    Buffer.from(JSON.stringify({ error: { code: status, message: `${message} (${code})`, status: STATUS } })),
};

/** Reported model names are truncated to this length. */
const MAX_MODEL_CHARS = 200;
const BASE = /^\/v1(?:beta|alpha)?\//;
const PURPOSES = new Map<string, Purpose>([
  ['generateContent', 'generate'],
  ['streamGenerateContent', 'generate'],
  ['countTokens', 'count'],
]);
/** Error status for faults of the proxy, chosen among those that clients of this wire know. */
const STATUS = 'UNAVAILABLE';
