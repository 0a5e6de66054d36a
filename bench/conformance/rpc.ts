import { lineAt, rawLine, splitLines } from '../../src/engine/text/lines.ts';
import { type MarkerFields, parseMarker } from '../../src/engine/text/marker.ts';
import { Random } from '../fuzz/random.ts';
import type { Agent } from './agents.ts';

/** Error codes of `recovery_unavailable` and `store_unavailable`. */
const UNAVAILABLE: ReadonlySet<number> = new Set([-32006, -32009]);

/** The product's MCP tools. */
export class Rpc {
  readonly #url: () => string;

  /** @param url - base URL of the proxy */
  constructor(url: () => string) {
    this.#url = url;
  }

  /** Resolves when the proxy can use its store, or after half a minute. */
  async ready(): Promise<void> {
    for (let i = 0; i < 150; i++) {
      if ((await fetch(`${this.#url()}/health/ready`)).ok) return;
      await new Promise((go) => setTimeout(go, 200));
    }
  }

  /** Calls a tool, again while the store is unavailable, as an agent would. Returns its answer, or `null` if it failed. */
  async call(name: string, args: object, attempts = 50): Promise<unknown> {
    const answer = await fetch(`${this.#url()}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    const { result, error } = (await answer.json()) as {
      result?: { isError?: boolean; content?: [{ text: string }] };
      error?: { code: number };
    };
    const text = result?.isError === true ? undefined : result?.content?.[0].text;
    if (text !== undefined) return JSON.parse(text);
    if (attempts <= 1 || !UNAVAILABLE.has(error?.code ?? 0)) return null;
    await new Promise((go) => setTimeout(go, 200));
    return this.call(name, args, attempts - 1);
  }

  /** The agent asks for the lines of a few markers, as one that needed them. */
  async readSome({ at }: Agent, seed: number): Promise<void> {
    const random = new Random(seed);
    for (const sent of at.results.values()) {
      if (sent.includes('⟦PRUNÉ') && random.once(3)) await this.#whole(sent);
    }
  }

  /** Reads back the lines of every marker of an agent, and compares the results with the originals. */
  async readBack({ at, results }: Agent): Promise<{ recovered: number; lost: string[] }> {
    let recovered = 0;
    const lost: string[] = [];
    for (const [id, sent] of at.results) {
      const original = results.get(id);
      if (original === undefined || sent === original || !sent.includes('⟦PRUNÉ')) continue;
      recovered++;
      const whole = await this.#whole(sent);
      if (whole !== original) lost.push(`${at.id} ${id}: ${differenceAt(whole, original)}`);
    }
    return { recovered, lost };
  }

  /** A forwarded text with the original lines in the place of its markers. */
  async #whole(text: string): Promise<string> {
    const lines = splitLines(text);
    let whole = '';
    let pruneId = '';
    for (let line = 1; line <= lines.count; line++) {
      const content = lineAt(lines, line);
      const marker = parseMarker(content);
      if (marker === null) {
        whole += rawLine(lines, line);
        continue;
      }
      const id = marker.pruneId || pruneId;
      const behind = await this.#behind(id, marker);
      if (behind !== null) pruneId = id;
      // a line of the original that only looks like a marker is not known
      whole += (behind ?? content) + rawLine(lines, line).slice(content.length);
    }
    return whole;
  }

  async #behind(pruneId: string, { startLine, endLine }: MarkerFields): Promise<string | null> {
    const ranges = [{ start_line: startLine, end_line: endLine }];
    const answer = await this.call('recover_text', { prune_id: pruneId, ranges, include_line_numbers: false });
    return (answer as { raw_text?: string } | null)?.raw_text ?? null;
  }
}

/** Where two texts differ, and how they go on there. */
function differenceAt(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return `at ${at}: ${JSON.stringify(a.slice(at, at + 60))}, not ${JSON.stringify(b.slice(at, at + 60))}`;
}
