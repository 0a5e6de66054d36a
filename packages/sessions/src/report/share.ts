import { count, plural } from 'mcp-pruner/base/counts.ts';
import { filled } from 'mcp-pruner/cli/table.ts';
import { money, percent } from 'mcp-pruner/cli/words.ts';
import type { SessionsReport } from './past-report.ts';

const COLUMNS = 72;
const MAX_MODELS = 4;
const MAX_KINDS = 4;

/**
 * The report in a form that can be published: figures, agents, kinds of texts, and models with a public price, without
 * paths, projects, tools and texts.
 *
 * @param days - number of days covered
 * @param isPublic - whether a model is publicly known
 */
export function shareText(
  { sessions, throughProxy, agents, report }: SessionsReport,
  days: number,
  version: string,
  isPublic: (model: string) => boolean,
): string {
  const { totals, models, misses, compactions, lines, rereads } = report;
  const part = (some: number, whole: number): string => percent(whole > 0 ? some / whole : null);
  const who = Object.entries(agents).map(([agent, requests]) => `${agent} ${count(requests)}`);
  const priced = models.filter(({ model, dollars }) => dollars > 0 && isPublic(model)).slice(0, MAX_MODELS);
  const cold = misses.filter(({ cause }) => cause !== 'first_request').reduce((sum, { dollars }) => sum + dollars, 0);
  const pauses = misses.find(({ cause }) => cause === 'expired')?.dollars ?? 0;
  const paragraphs = [
    `${plural(sessions, 'session')} in ${plural(days, 'day')}, requests: ${who.join(', ')}`,
    `spent ${money(totals.dollars)}; with pruning ${money(totals.dollarsWith)}: ${part(totals.saved, totals.dollars)} saved`,
    `models: ${priced.map(({ model, dollars }) => `${model} ${part(dollars, totals.dollars)}`).join(', ')}`,
    `removed: ${part(totals.removed, totals.fresh + totals.write5m + totals.write1h + totals.read)} of all input tokens; by kind: ${kinds(report)}`,
    lines.used > 0
      ? `lines used later that would have been cut: ${part(lines.lost, lines.used)} of ${count(lines.used)}`
      : '',
    `cold caches: ${money(cold)}, of which pauses ${money(pauses)}`,
    compactions.count > 0
      ? `compactions: ${count(compactions.count)}; with pruning ${count(compactions.withCuts)}`
      : '',
    rereads.count > 0 ? `same call, same result: ${plural(rereads.count, 'time')}, ${money(rereads.dollars)}` : '',
    totals.unpriced > 0 ? `${plural(totals.unpriced, 'request')} of models without a price` : '',
    throughProxy > 0 ? `${plural(throughProxy, 'session')} had gone through the proxy already` : '',
    `npx mcp-pruner report --sessions --share (${version})`,
  ];
  return `${paragraphs
    .filter((line) => line !== '')
    .map((line) => filled(line.split(' '), COLUMNS, '', '  '))
    .join('\n')}\n`;
}

function kinds({ tools }: SessionsReport['report']): string {
  const byKind = new Map<string, { tokens: number; removed: number }>();
  for (const { kind, tokens, removed } of tools) {
    const known = byKind.get(kind) ?? { tokens: 0, removed: 0 };
    byKind.set(kind, { tokens: known.tokens + tokens, removed: known.removed + removed });
  }
  return [...byKind]
    .sort(([, a], [, b]) => b.removed - a.removed)
    .slice(0, MAX_KINDS)
    .map(([kind, { tokens, removed }]) => `${kind || 'other'} ${percent(tokens > 0 ? removed / tokens : null)}`)
    .join(', ');
}
