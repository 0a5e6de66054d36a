import { hasImage, type SessionMessage, type SessionRequest } from './recorded.ts';

/** The difference between a request and the previous one in the same history. */
interface Step {
  /** Additional input tokens, as reported by the provider. */
  readonly tokens: number;
  /** Bytes of the new messages, and of those among them that the model wrote. */
  readonly bytes: number;
  readonly madeBytes: number;
  /** Output tokens of the model in between, and how many of them were reasoning; `null` if that is not reported. */
  readonly output: number;
  readonly reasoning: number | null;
}

/** The number of message bytes per token, and the numbers of bytes and tokens from which it was computed. */
export interface Scale {
  readonly bytesPerToken: number;
  readonly bytes: number;
  readonly tokens: number;
}

/** New tokens below which a session's own scale is not used. */
export const ENOUGH_TOKENS = 2_000;
/** Used while no scale is known; an average tokeniser. */
const USUAL = 3.5;
const [LEAST, MOST] = [1.5, 8];
const ROUNDS = 30;

/** The steps from each request to the next one of its thread, by model. */
function stepsOf(requests: readonly SessionRequest[]): Map<string, Step[]> {
  const newest = new Map<string, SessionRequest>();
  const steps = new Map<string, Step[]>();
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

function stepBetween(before: SessionRequest, request: SessionRequest): Step | null {
  if (before.history !== request.history || before.model !== request.model || request.shared) return null;
  const added = request.history.slice(before.length, request.length);
  const tokens = (request.usage.input ?? 0) - (before.usage.input ?? 0);
  // the bytes of an image do not show how many tokens it has
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
 * although the file does not contain it; others do not. The assumption that fits the bills better is used.
 */
function scaleOf(steps: readonly Step[]): Scale | null {
  const [whole, shown] = [fitted(steps, () => 0), fitted(steps, hiddenIn)];
  return shown !== null && (whole === null || shown.error < whole.error) ? shown.scale : (whole?.scale ?? null);
}

/** One scale from several: as if their messages were those of one session. */
function meanScale(scales: readonly Scale[]): Scale | null {
  const bytes = scales.reduce((sum, scale) => sum + scale.bytes, 0);
  const tokens = scales.reduce((sum, scale) => sum + scale.tokens, 0);
  return tokens > 0 ? { bytes, tokens, bytesPerToken: bounded(bytes / tokens) } : null;
}

/**
 * Tokens of an answer that are not in the file: the reported reasoning tokens, else the output tokens that its text
 * does not explain.
 */
function hiddenIn({ output, madeBytes, reasoning }: Step, bytesPerToken: number): number {
  return reasoning ?? Math.max(0, output - madeBytes / bytesPerToken);
}

/** @param hidden - tokens of a step that no bytes stand for */
function fitted(
  steps: readonly Step[],
  hidden: (step: Step, bytesPerToken: number) => number,
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

/** The scales of a session, by model. */
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

  /** @returns bytes of messages for each token of a model, in this session */
  ofSession(requests: readonly SessionRequest[]): (model: string) => number {
    const own = ownScales(requests);
    return (model) => {
      const scale = own.get(model);
      if (scale && scale.tokens >= ENOUGH_TOKENS) return scale.bytesPerToken;
      return meanScale(this.#byModel.get(model) ?? [])?.bytesPerToken ?? USUAL;
    };
  }
}
