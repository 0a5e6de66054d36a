import type { ColdStashReport } from '../ledger/cold-stash.ts';
import { count, money } from './report/words.ts';

/** A line about what was put aside while caches were cold, or `''`. */
export function coldText({ cold_stash: cold }: ColdStashReport): string {
  const { setting, conversations, results, tokens, usd, recovered, by_provider } = cold;
  const { edits, tokens: cleared } = by_provider;
  const provider =
    edits === 0
      ? ''
      : `\nCold caches: the provider cleared ${count(cleared)} tokens itself in ${count(edits)} ${edits === 1 ? 'edit' : 'edits'}\n`;
  if (results === 0) return provider;
  const [what, saves] =
    setting === 'measure'
      ? ['would have been put aside', 'MCP_PRUNER_COLD_STASH=on would save']
      : ['put aside', 'saved'];
  const where = `in ${count(conversations)} ${conversations === 1 ? 'conversation' : 'conversations'}`;
  const back = recovered === 0 ? 'none was needed again' : `${count(recovered)} were needed again`;
  return `\nCold caches: ${count(results)} old results (${count(tokens)} tokens) ${what} ${where}: ${saves} ${money(usd)}; ${back}\n${provider.trimStart()}`;
}
