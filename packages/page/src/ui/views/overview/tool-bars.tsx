import { compact, dollarColumn } from '@mcp-pruner/ui/format.tsx';
import { Card } from '@mcp-pruner/ui/parts/pieces.tsx';
import { plural } from 'mcp-pruner/base/counts.ts';
import type { LedgerTool } from 'mcp-pruner/core/ports/ledger-report.ts';
import { to } from '../../route.tsx';

const MOST_BARS = 8;

interface ToolBar {
  readonly tool: string;
  readonly saved: number;
  readonly regret: number;
  readonly regrets: number;
}

export function ToolBars({ tools, isPriced }: { tools: readonly LedgerTool[]; isPriced: boolean }) {
  const bars = barsOf(tools, isPriced).slice(0, MOST_BARS);
  if (bars.length === 0) return null;
  const top = Math.max(...bars.map(({ saved, regret }) => Math.max(saved, regret)), Number.MIN_VALUE);
  const savedWords = isPriced ? dollarColumn(bars.map(({ saved }) => saved)) : compact;
  const regretWords = isPriced ? dollarColumn(bars.map(({ regret }) => regret)) : compact;
  return (
    <Card
      title={isPriced ? 'Saved by tool' : 'Tokens cut by tool'}
      side={<a href={to('tools')}>All tools and kinds</a>}
    >
      {isPriced && (
        <p class="quiet small">
          At the price of tokens that are sent for the first time, before regret. The saving above is the difference of
          the bills: it also has cuts that were read from the cache, and cuts that cost a cache miss.
        </p>
      )}
      <ul class="tool-bars">
        {bars.map(({ tool, saved, regret, regrets }) => (
          <li key={tool}>
            <span class="breaks">{tool === '' ? 'no tool' : tool}</span>
            <span class="tool-bar" aria-hidden="true">
              <i style={{ width: `${(Math.max(0, saved - regret) / top) * 100}%` }} />
              <i class="bad" style={{ width: `${(regret / top) * 100}%` }} />
            </span>
            <span class="amount">
              {savedWords(saved)}{' '}
              {regret > 0 && (
                <span class="quiet small">
                  <span class="goes">{regretWords(regret)}</span> regret, {plural(regrets, 'text')}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function barsOf(tools: readonly LedgerTool[], isPriced: boolean): ToolBar[] {
  const bars = new Map<string, ToolBar>();
  for (const one of tools) {
    const { saved, regret, regrets } = bars.get(one.tool) ?? { saved: 0, regret: 0, regrets: 0 };
    const { recovered, reread, quoted } = one.regrets;
    bars.set(one.tool, {
      tool: one.tool,
      saved: saved + (isPriced ? one.dollarsSaved : one.removed),
      regret: regret + (isPriced ? one.regretDollars : one.regretTokens),
      regrets: regrets + recovered + reread + quoted,
    });
  }
  return [...bars.values()].filter(({ saved, regret }) => saved > 0 || regret > 0).sort((a, b) => b.saved - a.saved);
}
