import { hasImage, type SessionMessage, type SessionRequest } from './recorded.ts';

/** Difference between a request and the previous one in the same history. */
interface RequestGrowth {
  /** Additional input tokens, as reported by the provider. */
  readonly tokens: number;
  /** Bytes of new messages, and of those written by the model. */
  readonly bytes: number;
  readonly madeBytes: number;
  /** Output tokens in between, and how many of them were reasoning; `null` if not reported. */
  readonly output: number;
  readonly reasoning: number | null;
}

/** Message bytes per token, with the numbers of bytes and tokens it was computed from. */
interface Scale {
  readonly bytesPerToken: number;
  readonly bytes: number;
  readonly tokens: number;
}

/** Minimum number of new tokens for a session's own scale to be used. */
export const ENOUGH_TOKENS = 2_000;
/** Default scale, of an average tokeniser. */
const USUAL = 3.5;
const [LEAST, MOST] = [1.5, 8];
const ROUNDS = 30;

/** Steps from each request to the next one in its thread, by model. */
function stepsOf(requests: readonly SessionRequest[]): Map<string, RequestGrowth[]> {
  const newest = new Map<string, SessionRequest>();
  const steps = new Map<string, RequestGrowth[]>();
  for (const request of requests) {
    const before = newest.get(request.thread);
    newest.set(request.thread, request);
    const step = before && stepBetween(before, request);
    if (!step) continue;
    const own = steps.get(request.model);
    if (own) own.push(step);
    else steps.set(request.model, [step]);
  }
  return steps;
}

function stepBetween(before: SessionRequest, request: SessionRequest): RequestGrowth | null {
  if (before.history !== request.history || before.model !== request.model || request.shared) return null;
  const added = request.history.slice(before.length, request.length);
  const tokens = (request.usage.input ?? 0) - (before.usage.input ?? 0);
  // the byte size of an image does not determine its tokens
  if (tokens <= 0 || added.length === 0 || added.some(hasImage)) return null;
  const { output } = before.usage;
  return {
    tokens,
    bytes: bytesOf(added),
    madeBytes: bytesOf(added.filter(({ made }) => made)),
    output: output ?? 0,
    reasoning: before.reasoning,
  };
}

function bytesOf(messages: readonly SessionMessage[]): number {
  return messages.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
}

/**
 * The scale of a tokeniser: new bytes divided by new tokens. Some providers bill the model's reasoning again as input,
 * although the file does not contain it. The assumption that fits the bills better is used.
 */
function scaleOf(steps: readonly RequestGrowth[]): Scale | null {
  const [whole, shown] = [fitted(steps, () => 0), fitted(steps, hiddenIn)];
  return shown !== null && (whole === null || shown.error < whole.error) ? shown.scale : (whole?.scale ?? null);
}

function meanScale(scales: readonly Scale[]): Scale | null {
  const bytes = scales.reduce((sum, scale) => sum + scale.bytes, 0);
  const tokens = scales.reduce((sum, scale) => sum + scale.tokens, 0);
  return tokens > 0 ? { bytes, tokens, bytesPerToken: bounded(bytes / tokens) } : null;
}

/**
 * Tokens of an answer that are not in the file: reported reasoning, or else output tokens that its text does not
 * explain.
 */
function hiddenIn({ output, madeBytes, reasoning }: RequestGrowth, bytesPerToken: number): number {
  return reasoning ?? Math.max(0, output - madeBytes / bytesPerToken);
}

/** @param hidden - tokens of a step without corresponding bytes */
function fitted(
  steps: readonly RequestGrowth[],
  hidden: (step: RequestGrowth, bytesPerToken: number) => number,
): { readonly scale: Scale; readonly error: number } | null {
  let scale: Scale | null = null;
  let bytesPerToken = USUAL;
  for (let round = 0; round < ROUNDS; round++) {
    const seen = steps.map((step) => ({
      bytesPerToken,
      bytes: step.bytes,
      tokens: step.tokens - hidden(step, bytesPerToken),
    }));
    scale = meanScale(seen.filter(({ tokens }) => tokens > 0));
    if (scale === null) return null;
    const moved = Math.abs(scale.bytesPerToken - bytesPerToken);
    bytesPerToken = scale.bytesPerToken;
    if (moved < 1e-4) break;
  }
  const error = steps.reduce((sum, step) => {
    return sum + Math.abs(step.tokens - step.bytes / bytesPerToken - hidden(step, bytesPerToken));
  }, 0);
  return scale && { scale, error };
}

function bounded(bytesPerToken: number): number {
  return Math.min(MOST, Math.max(LEAST, bytesPerToken));
}

export function ownScales(requests: readonly SessionRequest[]): Map<string, Scale> {
  const scales = new Map<string, Scale>();
  for (const [model, steps] of stepsOf(requests)) {
    const scale = scaleOf(steps);
    if (scale) scales.set(model, scale);
  }
  return scales;
}

/**
 * The scales of many sessions. A session that is too short for its own scale uses the mean scale of its model over all
 * sessions.
 */
export class Scales {
  readonly #byModel = new Map<string, Scale[]>();

  add(model: string, scale: Scale): void {
    const known = this.#byModel.get(model);
    if (known) known.push(scale);
    else this.#byModel.set(model, [scale]);
  }

  /** @returns message bytes per token of a model in this session */
  ofSession(requests: readonly SessionRequest[]): (model: string) => number {
    const own = ownScales(requests);
    return (model) => {
      const scale = own.get(model);
      if (scale && scale.tokens >= ENOUGH_TOKENS) return scale.bytesPerToken;
      return meanScale(this.#byModel.get(model) ?? [])?.bytesPerToken ?? USUAL;
    };
  }
}
