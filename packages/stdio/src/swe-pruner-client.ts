import { CallFailure, JsonPoster } from '@mcp-pruner/backends/post-json.ts';
import { askSwePruner, prunedText } from '@mcp-pruner/backends/swe-pruner.ts';

export interface SwePrunerConfig {
  /** URL of the service; `null` if pruning is disabled. */
  readonly url: string | null;
  readonly timeoutMs: number;
  /** Sent as `Authorization: Bearer`, or `null`. */
  readonly token?: string | null;
  readonly warnings: readonly string[];
}

export const DEFAULT_PRUNER_URL = 'http://localhost:8000/prune';
const DEFAULT_TIMEOUT_MS = 30_000;
const MIN_TIMEOUT_MS = 100;
const MAX_TIMEOUT_MS = 300_000;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads `PRUNER_URL` (empty disables pruning), `PRUNER_TIMEOUT_MS` and `PRUNER_TOKEN`. Invalid values produce warnings,
 * never errors.
 */
export function swePrunerConfig(env: Env): SwePrunerConfig {
  const { timeoutMs, warnings } = readTimeout(env.PRUNER_TIMEOUT_MS);
  const { PRUNER_URL: url = DEFAULT_PRUNER_URL } = env;
  const usable = url === '' || /^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '');
  return {
    url: url === '' ? null : url,
    timeoutMs,
    token: /^[\x21-\x7e]+$/.test(env.PRUNER_TOKEN ?? '') ? (env.PRUNER_TOKEN ?? null) : null,
    warnings: usable ? warnings : [...warnings, 'PRUNER_URL is not an http(s) address: outputs are returned unpruned'],
  };
}

function readTimeout(text: string | undefined): { readonly timeoutMs: number; readonly warnings: string[] } {
  if (text === undefined) return { timeoutMs: DEFAULT_TIMEOUT_MS, warnings: [] };
  const givenMs = Number.parseInt(text, 10);
  if (Number.isNaN(givenMs)) {
    return {
      timeoutMs: DEFAULT_TIMEOUT_MS,
      warnings: [`PRUNER_TIMEOUT_MS is not a number: ${DEFAULT_TIMEOUT_MS} is used`],
    };
  }
  const timeoutMs = Math.min(Math.max(givenMs, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS);
  const warnings =
    timeoutMs === givenMs
      ? []
      : [`PRUNER_TIMEOUT_MS is outside ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}: ${timeoutMs} is used`];
  return { timeoutMs, warnings };
}

const refusals: Readonly<Record<number, string>> = {
  401: '401: the service requires a token, and got none or a wrong one; set PRUNER_TOKEN or MCP_PRUNER_AUTH_TOKEN to its token',
  403: '403: the service rejects this host name; address it as 127.0.0.1, or list the host in its MCP_PRUNER_ALLOWED_HOSTS',
};

export class SwePrunerClient {
  readonly #config: SwePrunerConfig & { readonly url: string };
  readonly #poster = new JsonPoster();

  constructor(config: SwePrunerConfig & { readonly url: string }) {
    this.#config = config;
  }

  /**
   * Calls the service once. The answer is not verified against `code`.
   *
   * @param query - sent verbatim
   * @throws CallFailure if there is no usable answer, or `signal` was aborted
   */
  async prune(code: string, query: string, signal?: AbortSignal): Promise<string> {
    const { url, token = null, timeoutMs } = this.#config;
    try {
      const { json, status } = await askSwePruner(this.#poster, { url, token, code, query, timeoutMs, signal });
      return prunedText(json, status);
    } catch (cause) {
      const status = cause instanceof CallFailure ? cause.status : null;
      const refusal = refusals[status ?? 0];
      throw refusal === undefined ? cause : new CallFailure('status', status, refusal);
    }
  }

  close(): Promise<void> {
    return this.#poster.close();
  }
}
