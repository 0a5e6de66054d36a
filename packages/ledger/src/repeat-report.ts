import { count, plural } from 'mcp-pruner/base/counts.ts';

/** Figures about lines that were cut because an earlier result shows them, as in `report --json`. */
export interface RepeatReport {
  readonly repeats: {
    /** Number of results with such cuts. */
    readonly texts: number;
    readonly lines: number;
    /** Tokens of the lines, without their markers. */
    readonly tokens: number;
    /** Additional cost of all requests with these lines, in dollars. */
    readonly usd: number;
    /** Number of places that the agent read again within ten requests. They were sent whole. */
    readonly read_again: number;
  };
}

/** The report's line about repeats; `''` if there are none. @param money - formats dollars */
export function repeatLine({ repeats }: RepeatReport, money: (dollars: number) => string): string {
  const { texts, lines, tokens, usd, read_again: again } = repeats;
  if (texts + again === 0) return '';
  const back = again === 0 ? 'none was read again' : `${plural(again, 'place')} read again soon and sent whole`;
  return `Repeats: ${count(lines)} lines (${count(tokens)} tokens) of ${plural(texts, 'result')} stood in an earlier one: saved ${money(usd)}; ${back}`;
}
