import { count, plural } from 'mcp-pruner/base/counts.ts';
import type { RunProxy } from 'mcp-pruner/cli/run-proxy.ts';
import { money } from 'mcp-pruner/cli/words.ts';
import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import type { RunFigures } from 'mcp-pruner/core/ports/run-figures.ts';
import { runPath } from 'mcp-pruner/proxy/doors/run-path.ts';

/** Longer than the proxy takes: it answers once the run's requests are billed, or after three seconds. */
const WAIT_MS = 4_000;

/**
 * Summary of a run in one sentence; `null` if the proxy returns no figures. Never rejects.
 *
 * @param proxy - its URL, and the token or key that it requires
 */
export async function summaryOf(proxy: Pick<RunProxy, 'url' | 'token' | 'key'>, run: string): Promise<string | null> {
  const { url, token, key } = proxy;
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(key !== null && { 'x-mcp-pruner-key': key }),
  };
  try {
    const answer = await fetch(`${url}${runPath(run)}?wait=1`, { headers, signal: AbortSignal.timeout(WAIT_MS) });
    return answer.ok ? sentenceOf((await answer.json()) as RunFigures) : null;
  } catch {
    return null; // none of our proxies answered in time
  }
}

/** Formats `7 requests, 1 cut: 6.4K of 7.1K tokens, $0.03 of $0.31. mcp-pruner why p_1`. */
export function sentenceOf(figures: RunFigures): string {
  const { requests, failed, cuts, largest, conversation } = figures;
  if (requests + failed === 0) return 'no request to a model came through the proxy';
  const asked =
    failed > 0 ? `${plural(requests, 'request')} (${count(failed)} more failed)` : plural(requests, 'request');
  const costs = costWords(figures);
  const what = cuts > 0 ? cutWords(figures) : wholeWords(figures);
  const more = largest !== '' ? `why ${largest}` : conversation !== '' ? `why --conversation ${conversation}` : '';
  const sentence = `${[`${asked}, ${what}`, ...costs].join(', ')}.${writtenWords(figures)}`;
  return more === '' ? sentence : `${sentence} mcp-pruner ${more}`;
}

function writtenWords({ markersWritten = 0 }: RunFigures): string {
  if (markersWritten === 0) return '';
  return ` Warning: the model wrote ${plural(markersWritten, 'marker')} into files, where the lines behind them are missing (search for ⟦PRUN).`;
}

function cutWords({ cuts, removed, tokens, shadow }: RunFigures): string {
  const sizes = `${shortCount(removed)} of ${shortCount(tokens)} tokens`;
  return shadow
    ? `${plural(cuts, 'cut')} in shadow mode, which removes nothing: ${sizes}`
    : `${plural(cuts, 'cut')}: ${sizes}`;
}

function wholeWords({ leftWhole }: RunFigures): string {
  const reasons = Object.entries(leftWhole).sort(([, a], [, b]) => b - a);
  const [most] = reasons;
  if (most === undefined) return 'nothing was cut: there was no tool result';
  const [code, texts] = most;
  const all = reasons.reduce((sum, [, some]) => sum + some, 0);
  const share = texts === 0 ? '' : ` (${count(texts)} of ${plural(all, 'text')})`;
  return `nothing was cut: ${leftWholeWords(code)}${share}`;
}

/** Cost of the run: points of a subscription's limits, or dollars. */
function costWords({ limits, cuts, shadow, dollars, dollarsWithout }: RunFigures): string[] {
  if (limits.length > 0) {
    const points = limits.map(({ window, used }) => `${Number((100 * used).toFixed(1))} points of ${window}`);
    return [`used ${points.join(' and ')}`];
  }
  if (dollars === null || dollarsWithout === null) return [];
  const whole = shadow ? dollars : dollarsWithout;
  const saved = shadow ? dollars - dollarsWithout : dollarsWithout - dollars;
  const digits = whole >= 0.1 ? 2 : 4;
  if (cuts === 0) return [`${money(whole, digits)} spent`];
  return saved < 0
    ? [`${money(-saved, digits)} more than the ${money(whole, digits)} without cuts`]
    : [`${money(saved, digits)} of ${money(whole, digits)}`];
}

/** Formats a number with a unit: `870`, `6.4K`, `128K`, `1.2M`. */
function shortCount(value: number): string {
  if (value < 999.5) return String(Math.round(value));
  const [size, unit] = value < 999_500 ? [value / 1_000, 'K'] : [value / 1_000_000, 'M'];
  return `${Number(size.toFixed(size < 99.95 ? 1 : 0))}${unit}`;
}
