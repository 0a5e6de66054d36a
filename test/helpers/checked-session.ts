import { expect } from 'vitest';
import { afterwards } from './afterwards.ts';
import { ClaudeAgent } from './claude-agent.ts';
import { FakeUpstream } from './fake-upstream.ts';
import { markersIn } from './markers.ts';
import { SigningModel } from './signing-upstream.ts';
import { serverLog } from './texts.ts';

const BUSY = 503;
const MAX_ATTEMPTS = 20;
const RETRY_MS = 500;

/** What a proxy needs so that the turns of a session are cut. */
export const CUTTING = { MCP_PRUNER_MIN_PRUNE_CHARS: '1000', MCP_PRUNER_MIN_KEEP_LINES: '5' };

interface PatientRequest {
  readonly url: string;
  /** See `ClaudeAgent.send`. */
  readonly calls: readonly string[];
  readonly attempts: number;
  readonly onRetry?: () => void;
}

/** Sends a conversation again after each 503, as real clients do. @throws if anything else is refused, or too often */
export async function sendPatiently(
  agent: ClaudeAgent,
  { url, calls, attempts, onRetry }: PatientRequest,
): Promise<void> {
  for (let i = 0; i < attempts; i++) {
    const { status, text } = await agent.send(url, calls);
    if (status === 200) return;
    expect([status, text]).toEqual([BUSY, expect.stringContaining('overloaded_error')]);
    onRetry?.();
    await new Promise((resume) => setTimeout(resume, RETRY_MS));
  }
  throw new Error('the proxy kept asking for retries');
}

/**
 * A session at a provider that only answers if everything before its own answers is as it was. Its client waits and
 * sends the same request again after a 503, as real ones do.
 */
export class CheckedSession {
  readonly model = new SigningModel();
  readonly agent = new ClaudeAgent(this.model);
  readonly upstream = new FakeUpstream(this.model.answer);
  /** Number of answers that asked for a retry. */
  retries = 0;
  #turns = 0;

  async open(): Promise<this> {
    await this.upstream.listen();
    afterwards(() => this.upstream.close());
    return this;
  }

  /** A question, a call, and its result. @throws if the provider or the proxy refuses it */
  async turn(url: string): Promise<void> {
    const seed = ++this.#turns;
    this.agent.user(`Why does payment ${seed} fail?`);
    await this.#send(url, [`npm run job${seed}`]);
    this.agent.results([serverLog(90, seed)]);
    await this.#send(url, []);
  }

  async #send(url: string, calls: readonly string[]): Promise<void> {
    await sendPatiently(this.agent, { url, calls, attempts: MAX_ATTEMPTS, onRetry: () => this.retries++ });
  }

  /** Checks that something is cut in what was sent last, and that a proxy has the lines behind every marker. */
  async check(url: string): Promise<void> {
    const markers = textsIn(JSON.parse(this.upstream.last.body.toString())).flatMap(markersIn);
    expect(markers.length).toBeGreaterThan(0);
    for (const { pruneId, startLine } of markers) {
      const ranges = [{ start_line: startLine, end_line: startLine }];
      const params = { name: 'recover_text', arguments: { prune_id: pruneId, ranges, include_line_numbers: false } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/rpc`, { method: 'POST', headers, body });
      expect(await answer.json()).toMatchObject({ result: expect.anything() });
    }
  }
}

/** All strings in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
