import type { Dialect, Purpose } from '../dialect.ts';
import { scanGeminiBody } from './scan.ts';

/**
 * `POST …/models/<model>:generateContent` as Google defined it, spoken by Gemini CLI and the GenAI SDKs. The path names
 * the model and whether the answer is a stream. Thought signatures are sent back unchanged; results are not verified.
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
  error: (status, code, message) =>
    Buffer.from(JSON.stringify({ error: { code: status, message: `${message} (${code})`, status: STATUS } })),
};

/** Maximum number of characters of a model's name that are reported. */
const MAX_MODEL_CHARS = 200;
const BASE = /^\/v1(?:beta|alpha)?\//;
const PURPOSES = new Map<string, Purpose>([
  ['generateContent', 'generate'],
  ['streamGenerateContent', 'generate'],
  ['countTokens', 'count'],
]);
/** The status for a fault of the proxy, among those that clients of this wire know. */
const STATUS = 'UNAVAILABLE';
