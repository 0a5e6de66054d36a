import { countsOf } from '@mcp-pruner/money/bill.ts';
import { inputOf, type Prices } from '@mcp-pruner/money/prices.ts';
import { pricing } from '@mcp-pruner/money/served-price.ts';
import {
  billed,
  type CompactionRule,
  type Leftover,
  type PastTurn,
  paceOf,
  SEAM_TOKENS,
  simulate,
  THRESHOLDS,
} from '@mcp-pruner/money/thresholds.ts';
import type { ThresholdCost } from 'mcp-pruner/core/ports/seams-report.ts';
import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { findFileBlocks, ownWords } from 'mcp-pruner/wires/transcript/file-blocks.ts';
import type { SessionMessage, SessionRequest } from '../readers/recorded.ts';

export class WhatIf {
  readonly #prices: Prices;
  readonly #conversations: PastTurn[][] = [];
  #clients = 0;

  constructor(prices: Prices) {
    this.#prices = prices;
  }

  /** Adds the requests of a session. Those of models without a price are left out. */
  add(requests: readonly SessionRequest[]): void {
    const threads = new Map<string, { turns: PastTurn[]; last: SessionRequest | null }>();
    for (const request of requests) {
      const thread = threads.get(request.thread) ?? { turns: [], last: null };
      threads.set(request.thread, thread);
      const { price } = pricing(this.#prices.of(request.model, request.atMs), request, this.#prices);
      if (price === null) continue;
      if (thread.last !== null && request.history !== thread.last.history) this.#clients++;
      const { fresh, write5m, write1h, read, output } = countsOf(request.usage);
      const seam = isSeam(request, thread.last);
      // without a spread, which makes each access slow on Node 20
      thread.turns.push({ fresh, write5m, write1h, read, output, atMs: request.atMs, rates: price, seam });
      thread.last = request;
    }
    for (const { turns } of threads.values()) if (turns.length > 0) this.#conversations.push(turns);
  }

  /** What each rule would have cost; `[]` without priced requests. */
  thresholds(leftover: Leftover): ThresholdCost[] {
    const all = this.#conversations;
    const today = all.reduce((sum, turns) => sum + billed(turns), 0);
    if (today === 0) return [];
    const pace = paceOf(all.map((turns) => turns.map(inputOf)));
    const row = (tokens: ThresholdCost['tokens'], rule: CompactionRule): ThresholdCost => {
      const each = all.map((turns) => simulate(turns, rule, leftover, rule.at === 'seam' ? pace : undefined));
      const usd = each.reduce((sum, { cost }) => sum + cost, 0);
      return { tokens, usd, share: usd / today, compactions: each.reduce((sum, one) => sum + one.compactions, 0) };
    };
    return [
      ...THRESHOLDS.map((tokens) => row(tokens, { at: 'length', tokens })),
      { tokens: 'client', usd: today, share: 1, compactions: this.#clients },
      row('seam', { at: 'seam', tokens: SEAM_TOKENS }),
    ];
  }
}

/** Whether the messages that a request adds are the user's own words, and no result is among them. */
function isSeam({ history, length }: SessionRequest, last: SessionRequest | null): boolean {
  if (last === null || last.history !== history) return false;
  const added = history.slice(last.length, length).filter(({ made }) => !made);
  return added.length > 0 && !added.some(hasResult) && added.some(hasWords);
}

const RESULT =
  /"type":"(?:tool_result|function_call_output|custom_tool_call_output|local_shell_call_output)"|"role":"tool"/;
/** Longer messages are pasted files. */
const MAX_CHARS = 200_000;

function hasResult({ json }: SessionMessage): boolean {
  return RESULT.test(json);
}

function hasWords({ json }: SessionMessage): boolean {
  if (json.length > MAX_CHARS) return true;
  const message = parsed(json);
  if (field(message, 'role') !== 'user') return false;
  const content = field(message, 'content');
  const texts = typeof content === 'string' ? [content] : Array.isArray(content) ? content.map(textIn) : [];
  return texts.some((text) => ownWords(text, findFileBlocks(text)) !== '');
}

function textIn(part: unknown): string {
  const text = field(part, 'text');
  return typeof text === 'string' ? text : '';
}
