/** What the stdio server reads from its environment. */
export interface SwePrunerConfig {
  /** Where to post to, or `null` when pruning is switched off. */
  readonly url: string | null;
  readonly timeoutMs: number;
  /** Sent to it as `Authorization: Bearer`, or `null`. */
  readonly token?: string | null;
  /** One line each. */
  readonly warnings: readonly string[];
}

export const DEFAULT_PRUNER_URL = 'http://localhost:8000/prune';
const DEFAULT_TIMEOUT_MS = 30_000;
const MIN_TIMEOUT_MS = 100;
const MAX_TIMEOUT_MS = 300_000;
/** Room for an answer beyond the size of what was sent, in bytes: markers, scores, and whatever else it tells. */
const ANSWER_SLACK_BYTES = 16 * 1024 * 1024;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads `PRUNER_URL` (empty switches pruning off), `PRUNER_TIMEOUT_MS` and `PRUNER_TOKEN`. Nothing that stands there is an
 * error.
 */
export function swePrunerConfig(env: Env): SwePrunerConfig {
  const { timeoutMs, warnings } = readTimeout(env.PRUNER_TIMEOUT_MS);
  const { PRUNER_URL: url = DEFAULT_PRUNER_URL } = env;
  const usable = url === '' || /^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '');
  return {
    url: url === '' ? null : url,
    timeoutMs,
    token: /^[\x21-\x7e]+$/.test(env.PRUNER_TOKEN ?? '') ? (env.PRUNER_TOKEN ?? null) : null,
    warnings: usable ? warnings : [...warnings, 'PRUNER_URL is not an http(s) address: outputs go back unpruned'],
  };
}

function readTimeout(text: string | undefined): { readonly timeoutMs: number; readonly warnings: string[] } {
  if (text === undefined) return { timeoutMs: DEFAULT_TIMEOUT_MS, warnings: [] };
  const asked = Number.parseInt(text, 10);
  if (Number.isNaN(asked)) {
    return {
      timeoutMs: DEFAULT_TIMEOUT_MS,
      warnings: [`PRUNER_TIMEOUT_MS is not a number: ${DEFAULT_TIMEOUT_MS} is used`],
    };
  }
  const timeoutMs = Math.min(Math.max(asked, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS);
  const warnings =
    timeoutMs === asked
      ? []
      : [`PRUNER_TIMEOUT_MS is outside ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}: ${timeoutMs} is used`];
  return { timeoutMs, warnings };
}

/** Why a pruner gave nothing usable. `message` is short, and holds neither its address nor a text. */
export class SwePrunerFailure extends Error {
  override readonly name = 'SwePrunerFailure';
  /** `timeout`, `network_error`, `http_error` or `invalid_response`. */
  readonly reason: 'timeout' | 'network_error' | 'http_error' | 'invalid_response';

  constructor(reason: SwePrunerFailure['reason'], detail: string, options?: ErrorOptions) {
    super(detail === '' ? reason : `${reason} (${detail})`, options);
    this.reason = reason;
  }
}

export interface SwePrunerOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string | null;
  /** For the whole exchange, the body of the answer included. */
  readonly timeoutMs: number;
}

/** What a refusal is about, and what to do. */
const refusals: Readonly<Record<number, string>> = {
  401: 'status 401: it asks for a token, and got none or another; set PRUNER_TOKEN or MCP_PRUNER_AUTH_TOKEN to its token',
  403: 'status 403: it does not let this host in; address it as 127.0.0.1, or list the host in its MCP_PRUNER_ALLOWED_HOSTS',
};

/** A swe-pruner service over HTTP: `{code, query}` goes out, a shortened text comes back. */
export class SwePrunerClient {
  readonly #options: SwePrunerOptions;

  constructor(options: SwePrunerOptions) {
    this.#options = options;
  }

  /**
   * Asks the service once.
   *
   * @param query - goes out word for word
   * @throws SwePrunerFailure for whatever kept it from answering; the reason of `signal`
   */
  async prune(code: string, query: string, signal?: AbortSignal): Promise<string> {
    const { url, timeoutMs, token } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    try {
      const body = JSON.stringify({ code, query });
      // a redirect would carry the text to a place that nobody configured
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
        body,
        redirect: 'manual',
        signal: either,
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new SwePrunerFailure('http_error', refusals[response.status] ?? `status ${response.status}`);
      }
      return prunedText(await readBody(response, 2 * body.length + ANSWER_SLACK_BYTES));
    } catch (cause) {
      if (cause instanceof SwePrunerFailure) throw cause;
      if (signal?.aborted) throw signal.reason;
      if (timeout.aborted) throw new SwePrunerFailure('timeout', `${timeoutMs} ms`, { cause });
      throw new SwePrunerFailure('network_error', networkCode(cause), { cause });
    }
  }
}

async function readBody(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new SwePrunerFailure('invalid_response', 'too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The first of the known fields that holds a string; an empty one counts. */
function prunedText(body: string): string {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    throw new SwePrunerFailure('invalid_response', 'not JSON');
  }
  if (typeof answer === 'object' && answer !== null) {
    const { pruned_code, content, text } = answer as Readonly<Record<string, unknown>>;
    for (const field of [pruned_code, content, text]) if (typeof field === 'string') return field;
  }
  throw new SwePrunerFailure('invalid_response', 'no pruned_code, content or text');
}

/** `ECONNREFUSED` and the like. The message of such an error may repeat an address with credentials in it. */
function networkCode(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string') return error.code;
  }
  return cause instanceof Error ? cause.name : '';
}
