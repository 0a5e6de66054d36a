import { count, plural } from '../base/counts.ts';
import { hourCacheWords } from '../core/miss-causes.ts';
import type { ColdFigures } from '../core/ports/compactions.ts';
import type { ContextReport } from '../core/ports/context-report.ts';
import { printableLine } from './command.ts';
import { shortName } from './conversations.ts';
import { money } from './words.ts';

const MOST_SHOWN = 10;

/** Report on compactions, the longest conversations, and the cost of pauses; `''` if there are none. */
export function contextText({ compactions, cold }: ContextReport): string {
  const { seen, avoided, conversations } = compactions;
  const lines: string[] = [];
  if (seen + avoided > 0) {
    lines.push('', `Compactions by clients: ${seen}; avoided by cuts: ${avoided}`);
    for (const one of conversations.slice(0, MOST_SHOWN)) {
      const what = one.avoided ? 'avoided' : one.compacted_by ? `compacted by ${one.compacted_by}` : 'continues';
      const threshold = one.threshold === null ? 'unknown' : count(one.threshold);
      const lengths = `${count(one.peak_sent)} tokens sent of ${count(one.peak_whole)}, threshold ${threshold}`;
      const name = shortName({ id: one.id, title: one.title ?? '' });
      lines.push(`  ${printableLine(name)}  ${lengths}: ${what}`);
    }
  }
  if (cold.requests > 0) lines.push('', `Pauses: ${pauseWords(cold)}`, `  ${hourCacheWords(cold, money)}`);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

export function pauseWords({ requests, usd }: ColdFigures): string {
  return `the cache had expired for ${plural(requests, 'request')}, which cost ${money(usd)}`;
}
