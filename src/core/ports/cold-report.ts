import { count, plural } from '../../base/counts.ts';

/** Descriptions of why a cache was cold. */
const MOMENTS: Readonly<Record<string, string>> = {
  pause: 'after pauses',
  compaction: 'after compactions by the client',
  model: 'at a change of model',
  tools: 'at changed tools',
  system: 'at a changed system prompt',
};

/** Figures about old results that were put aside while the provider's cache was cold, as in `report --json`. */
export interface ColdStashReport {
  readonly cold_stash: {
    readonly setting: 'on' | 'measure' | 'off';
    readonly conversations: number;
    readonly results: number;
    /** Tokens of the results, without their markers. */
    readonly tokens: number;
    /** Additional cost of the later requests if the results had stayed, in dollars. Recoveries count as regret. */
    readonly usd: number;
    /** Number of results from which lines were recovered afterwards. */
    readonly recovered: number;
  };
  /** Number of times results were put aside, by cause of the cold cache. */
  readonly cold_moments: Readonly<Record<string, number>>;
}

/**
 * Report lines about results put aside; empty if there are none.
 *
 * @param money - formats dollars
 */
export function coldLines({ cold_stash, cold_moments }: ColdStashReport, money: (dollars: number) => string): string[] {
  return asideLine(cold_stash, cold_moments, money);
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
