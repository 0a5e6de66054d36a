import type { ColdStashReport } from '../ledger/cold-stash.ts';
import { count, money, plural } from './report/words.ts';

/** Lines about what was put aside while caches were cold, by this program and by the provider, or `''`. */
export function coldText({ cold_stash: cold }: ColdStashReport): string {
  const lines = [...asideLine(cold), ...providerLine(cold.by_provider)];
  return lines.length === 0 ? '' : `\n${lines.join('\n')}\n`;
}

type Cold = ColdStashReport['cold_stash'];

function asideLine({ setting, conversations, results, tokens, usd, recovered }: Cold): string[] {
  if (results === 0) return [];
  const [what, saves] =
    setting === 'measure'
      ? ['would have been put aside', 'MCP_PRUNER_COLD_STASH=on would save']
      : ['put aside', 'saved'];
  const back = recovered === 0 ? 'none was needed again' : `${count(recovered)} were needed again`;
  const where = plural(conversations, 'conversation');
  return [
    `Cold caches: ${count(results)} old results (${count(tokens)} tokens) ${what} in ${where}: ${saves} ${money(usd)}; ${back}`,
  ];
}

function providerLine({ edits, tokens }: Cold['by_provider']): string[] {
  if (edits === 0) return [];
  return [`Cold caches: the provider cleared ${count(tokens)} tokens itself in ${plural(edits, 'edit')}`];
}
