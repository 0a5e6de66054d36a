import type { ScoreRequest } from 'mcp-pruner/core/ports.ts';
import { type Lines, lineAt, splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { CallFailure, type JsonPoster } from './post-json.ts';
import type { CallLimits, LineOpinions, RemoteBackend } from './remote-backend.ts';

/**
 * The scores in a rerank answer, one for each document, from 0 to 1. Accepts one list, a list per query (all queries
 * are equal, so the first is used), or a list per document; logits are converted to probabilities.
 *
 * @throws CallFailure `wrong_shape` unless there is exactly one finite number per document
 */
function readScores(json: unknown, documents: number, status: number): number[] {
  const listed = typeof json === 'object' && json !== null && 'scores' in json ? json.scores : null;
  const scores = flatten(listed, documents);
  if (!scores || scores.length !== documents || !scores.every(isFiniteNumber)) {
    throw new CallFailure('wrong_shape', status);
  }
  const areShares = scores.every((score) => score >= 0 && score <= 1);
  return areShares ? scores : scores.map((logit) => 1 / (1 + Math.exp(-logit)));
}

function flatten(listed: unknown, documents: number): unknown[] | null {
  if (!Array.isArray(listed)) return null;
  const [first] = listed;
  if (!Array.isArray(first)) return listed;
  if (first.length === documents) return first;
  return listed.map((row) => (Array.isArray(row) && row.length === 1 ? row[0] : null));
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** The opinion of the line with the lowest score, and the range above it for scores below one half. */
const LOWEST = 0.1;
const SPAN = 0.7;

/**
 * Extends the scores of some lines to opinions on all lines. Scores of at least one half are used directly, but raised
 * to at least `LOWEST + SPAN`. Below that only the order counts, because the scale of small scores means little for
 * isolated lines. Lines equal to a scored line share its score; there is no opinion on others.
 *
 * @param sent - indexes of the scored lines, from 0
 */
function opinionsOf(lines: Lines, sent: readonly number[], scores: readonly number[]): Float64Array {
  const ranked = [...scores].sort((a, b) => a - b);
  const flat = ranked[0] === ranked.at(-1);
  const below = new Map<number, number>();
  ranked.forEach((score, i) => {
    if (!below.has(score)) below.set(score, i);
  });
  const opinionOf = (score: number): number => {
    if (score >= 0.5) return Math.max(score, LOWEST + SPAN);
    if (flat) return Number.NaN;
    return LOWEST + (SPAN * (below.get(score) ?? 0)) / (scores.length - 1);
  };
  const byContent = new Map(sent.map((index, i) => [lineAt(lines, index + 1), opinionOf(scores[i] ?? 0)]));
  const opinions = new Float64Array(lines.count);
  for (let i = 0; i < lines.count; i++) opinions[i] = byContent.get(lineAt(lines, i + 1)) ?? Number.NaN;
  return opinions;
}

export interface DeepInfraOptions {
  readonly endpointUrl: string;
  readonly apiKey: string | null;
  readonly timeoutMs: number;
  readonly maxDocs: number;
  readonly poster: JsonPoster;
}

/** Maximum number of characters sent for the goal and for each line; more does not help a reranker. */
const MAX_GOAL_CHARS = 2_000;
const MAX_LINE_CHARS = 2_000;
/** Maximum number of characters per call: all lines, plus the goal once per line. */
const MAX_CALL_CHARS = 8_000_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A rerank endpoint like DeepInfra's: `{queries, documents}` in, `{scores}` out. */
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

  async ask(request: ScoreRequest, limits: CallLimits): Promise<LineOpinions> {
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
      // one query per document: the endpoint pairs the two lists
      body: { queries: documents.map(() => goal), documents },
      maxBytes: MAX_ANSWER_BYTES,
      ...limits,
    });
    const scores = readScores(json, documents.length, status);
    return { opinions: opinionsOf(lines, sent, scores), scored: sent.length, status };
  }
}
