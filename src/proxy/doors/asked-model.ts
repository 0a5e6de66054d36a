import { decodedName } from '../../wires/providers/provider.ts';
import { asksModel } from './exchange-usage.ts';

/** The parts of a request that determine its price. */
export interface AskedModel {
  /** Model names in the body; several if other fields have the same name. */
  readonly models: readonly string[];
  /** The answer comes later, in the background. */
  readonly isDeferred: boolean;
  /** Size of the request's text. */
  readonly bytes: number;
}

/** API areas that use no model, or whose cost is not part of the answer. */
const FREE = new Set('files uploads moderations models tokenize cachedContents'.split(' '));
const LATER = new Set(
  `async-invoke batches batchPredictionJobs containers evals fine-tuning fine_tuning jobs model-customization-jobs
  model-invocation-job realtime threads videos`.split(/\s+/),
);
const LATER_METHOD = /:(?:batch\w*|predictLongRunning|asyncBatch\w*)$/;
const FREE_METHOD = /:countTokens$|\/(?:count_tokens|count-tokens|input_tokens|cancel)$/;

/**
 * Cost of a path: `free`, `shown` in the answer, or known only later, as for batches.
 *
 * @param path - without its query
 */
export function costOfPath(path: string): 'free' | 'shown' | 'later' {
  const decoded = decodedPath(path);
  let end = decoded.length;
  while (decoded.endsWith('/', end)) end--;
  const plain = decoded.slice(0, end);
  const area = plain.split('/').filter(Boolean);
  if (LATER_METHOD.test(plain) || area.some((part) => LATER.has(part))) return 'later';
  if (!asksModel(plain) || FREE_METHOD.test(plain)) return 'free';
  const [, first = ''] = /^\/v1(?:beta)?\/+([^/]+)/.exec(plain) ?? [];
  return FREE.has(first) && !plain.includes(':') ? 'free' : 'shown';
}

/** The model in a path of a cloud provider; `null` if there is none. */
export function modelInPath(path: string): string | null {
  const [, name] = /\/(?:models?|deployments)\/([^/:?]+)/.exec(path) ?? [];
  return name === undefined ? null : decodedName(name);
}

const MODEL = /"model"\s{0,8}:\s{0,8}"([^"\\]{1,200})"/g;
const BACKGROUND = /"background"\s{0,8}:\s{0,8}true\b/;
/** Maximum number of model names to look up. */
const MAX_NAMES = 16;

/**
 * Finds the models that a body names, without parsing it: it may be truncated or malformed. Quotes inside texts are
 * escaped, so texts cannot be mistaken for fields.
 */
export function askedIn(body: Buffer): AskedModel {
  const models = new Set<string>();
  for (const text of [...partsWith(body, '"model"')]) {
    for (const [, name = ''] of text.matchAll(MODEL)) if (models.size < MAX_NAMES) models.add(name);
  }
  const isDeferred = [...partsWith(body, '"background"')].some((text) => BACKGROUND.test(text));
  return { models: [...models], isDeferred, bytes: body.length };
}

/** Number of characters after a field's name that may contain its value. */
const FIELD_CHARS = 260;
const MAX_PARTS = 64;

/** The beginnings of all fields with a name; the rest of the body is not decoded. */
function* partsWith(body: Buffer, field: string): Generator<string> {
  let at = body.indexOf(field);
  for (let parts = 0; at >= 0 && parts < MAX_PARTS; parts++) {
    yield body.toString('utf8', at, at + FIELD_CHARS);
    at = body.indexOf(field, at + field.length);
  }
}

/** A path as a lenient provider interprets it. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
