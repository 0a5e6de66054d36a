import type { ScoreRequest } from '../core/ports.ts';
import { lineAt, splitLines } from '../engine/text/lines.ts';
import type { JsonPoster } from './post-json.ts';
import type { Answer, CallLimits, RemoteBackend } from './remote-backend.ts';
import { opinionsOf, readScores } from './rerank-scores.ts';

export interface DeepInfraOptions {
  readonly endpointUrl: string;
  readonly apiKey: string | null;
  readonly timeoutMs: number;
  /** Maximum number of lines that one call sends. */
  readonly maxDocs: number;
  readonly poster: JsonPoster;
}

/** Characters of the goal and of each line that are sent: a reranker gains nothing from more. */
const MAX_GOAL_CHARS = 2_000;
const MAX_LINE_CHARS = 2_000;
/** Maximum number of characters of one call: its lines, and the goal once for each line. */
const MAX_CALL_CHARS = 8_000_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A rerank endpoint in the manner of DeepInfra: `{queries, documents}` goes out, `{scores}` comes back. */
export class DeepInfra implements RemoteBackend {
  readonly name = 'deepinfra';
  readonly prefix = 'deepinfra';
  readonly identity: string;
  readonly timeoutMs: number;
  readonly #options: DeepInfraOptions;

  constructor(options: DeepInfraOptions) {
    this.#options = options;
    this.identity = `${options.endpointUrl} ${options.maxDocs}`;
    this.timeoutMs = options.timeoutMs;
  }

  get configured(): boolean {
    return this.#options.apiKey !== null;
  }

  async ask(request: ScoreRequest, limits: CallLimits): Promise<Answer> {
    const { endpointUrl, apiKey, maxDocs, poster } = this.#options;
    const lines = splitLines(request.text);
    const goal = request.goal.slice(0, MAX_GOAL_CHARS);
    const documents: string[] = [];
    const sent: number[] = [];
    let room = MAX_CALL_CHARS;
    for (const index of request.sample(maxDocs)) {
      const line = lineAt(lines, index + 1)
        .replace(/\r$/, '')
        .slice(0, MAX_LINE_CHARS);
      room -= line.length + goal.length;
      if (room < 0) break;
      documents.push(line);
      sent.push(index);
    }
    if (documents.length === 0) {
      return { opinions: new Float64Array(lines.count).fill(Number.NaN), scored: 0, status: null };
    }
    const { status, json } = await poster.post({
      url: endpointUrl,
      headers: { authorization: `Bearer ${apiKey}` },
      // one query for each document: the endpoint pairs the two lists
      body: { queries: documents.map(() => goal), documents },
      maxBytes: MAX_ANSWER_BYTES,
      ...limits,
    });
    const scores = readScores(json, documents.length, status);
    return { opinions: opinionsOf(lines, sent, scores), scored: sent.length, status };
  }
}
