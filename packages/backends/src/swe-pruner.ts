import type { ScoreRequest } from 'mcp-pruner/core/ports.ts';
import { splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { keptLines } from './align.ts';
import { CallFailure, type JsonAnswer, type JsonPoster } from './post-json.ts';
import type { CallLimits, LineOpinions, RemoteBackend } from './remote-backend.ts';

interface SwePrunerOptions {
  readonly url: string | null;
  readonly timeoutMs: number;
  readonly poster: JsonPoster;
}

/** Maximum answer size per character: the text, plus a score per token. */
const ANSWER_BYTES_PER_CHAR = 40;
const MIN_ANSWER_BYTES = 16 * 1024 * 1024;
/** Possible fields of the text in an answer, in the order of docs/contract.md §7. */
const TEXT_FIELDS = ['pruned_code', 'content', 'text'] as const;

/** A swe-pruner service: `{code, query}` in, the text with lines removed out. */
export class SwePruner implements RemoteBackend {
  readonly name = 'swe-pruner';
  readonly prefix = 'swe_pruner';
  readonly identity: string;
  readonly timeoutMs: number;
  readonly #options: SwePrunerOptions;

  constructor(options: SwePrunerOptions) {
    this.#options = options;
    this.identity = options.url ?? '';
    this.timeoutMs = options.timeoutMs;
  }

  get configured(): boolean {
    return this.#options.url !== null;
  }

  async ask({ text, goal }: ScoreRequest, limits: CallLimits): Promise<LineOpinions> {
    const { url, poster } = this.#options;
    const { status, json } = await askSwePruner(poster, { url: url ?? '', code: text, query: goal, ...limits });
    if (reportsError(json)) throw new CallFailure('wrong_shape', status, 'the service reports an error');
    const lines = splitLines(text);
    const opinions = keptLines(lines, prunedText(json, status));
    if (opinions === null) throw new CallFailure('wrong_shape', status, 'not a selection of the lines');
    return { opinions, scored: lines.count, status };
  }
}

interface SwePrunerQuestion {
  readonly url: string;
  readonly code: string;
  readonly query: string;
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string | null;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Calls a swe-pruner service once. @throws CallFailure */
export function askSwePruner(poster: JsonPoster, question: SwePrunerQuestion): Promise<JsonAnswer> {
  const { url, code, query, token, timeoutMs, signal } = question;
  return poster.post({
    url,
    body: { code, query },
    ...(token && { headers: { authorization: `Bearer ${token}` } }),
    maxBytes: Math.max(MIN_ANSWER_BYTES, ANSWER_BYTES_PER_CHAR * code.length),
    timeoutMs,
    signal,
  });
}

/** The first known field with a string, even if empty. @throws CallFailure */
export function prunedText(json: unknown, status: number): string {
  const fields: Readonly<Record<string, unknown>> = typeof json === 'object' && json !== null ? { ...json } : {};
  for (const name of TEXT_FIELDS) {
    const value = fields[name];
    if (typeof value === 'string') return value;
  }
  throw new CallFailure('wrong_shape', status, 'no pruned_code, content or text');
}

function reportsError(json: unknown): boolean {
  return (
    typeof json === 'object' &&
    json !== null &&
    'error_msg' in json &&
    typeof json.error_msg === 'string' &&
    json.error_msg !== ''
  );
}
