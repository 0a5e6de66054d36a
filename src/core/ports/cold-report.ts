import { count, plural } from '../../base/counts.ts';

/** Causes of cold caches, in words. */
const MOMENTS: Readonly<Record<string, string>> = {
  pause: 'after pauses',
  compaction: 'after compactions by the client',
  model: 'at a change of model',
  tools: 'at changed tools',
  system: 'at a changed system prompt',
};

/** Old results that were put aside while the provider's cache was cold, as `report --json` prints them. */
export interface ColdStashReport {
  readonly cold_stash: {
    readonly setting: 'on' | 'provider' | 'measure' | 'off';
    readonly conversations: number;
    readonly results: number;
    /** Tokens of the results, without their markers. */
    readonly tokens: number;
    /** What the requests from the cold moment on would have cost more with them, in dollars. Recoveries are regret. */
    readonly usd: number;
    /** Results of which a line was given out afterwards. */
    readonly recovered: number;
    /** What the provider cleared itself: how often, and tokens, each counted once. */
    readonly by_provider: { readonly edits: number; readonly tokens: number };
  };
  /** How often something was put aside, by why the cache was cold. */
  readonly cold_moments: Readonly<Record<string, number>>;
}

/**
 * Lines about what was put aside, by this program and by the provider, for the report and the page; none if nothing was.
 *
 * @param money - dollars in words
 */
export function coldLines({ cold_stash, cold_moments }: ColdStashReport, money: (dollars: number) => string): string[] {
  return [...asideLine(cold_stash, cold_moments, money), ...providerLine(cold_stash.by_provider)];
}

type Cold = ColdStashReport['cold_stash'];

function asideLine(
  { setting, conversations, results, tokens, usd, recovered }: Cold,
  moments: ColdStashReport['cold_moments'],
  money: (dollars: number) => string,
): string[] {
  if (results === 0) return [];
  const [what, saves] =
    setting === 'measure'
      ? ['would have been put aside', 'MCP_PRUNER_COLD_STASH=on would save']
      : ['put aside', 'saved'];
  const back =
    recovered === 0 ? 'none was needed again' : `${count(recovered)} were needed again, which counts as regret`;
  const when = Object.entries(moments).map(([cause, times]) => `${MOMENTS[cause] ?? cause} (${count(times)})`);
  const where = `${plural(conversations, 'conversation')}${when.length === 0 ? '' : ` ${when.join(', ')}`}`;
  return [
    `Cold caches: ${count(results)} old results (${count(tokens)} tokens) ${what} in ${where}: ${saves} ${money(usd)}; ${back}`,
  ];
}

function providerLine({ edits, tokens }: Cold['by_provider']): string[] {
  if (edits === 0) return [];
  return [`Cold caches: the provider cleared ${count(tokens)} tokens itself in ${plural(edits, 'edit')}`];
}
