/**
 * Listings of states: are the rows kept that an operator needs?
 *   node bench/run.mjs rows [--set first|second|real-first|real-second] [--against <git ref>] [--show <name>] [--check]
 *
 * `first` and `second` are written in the forms that documents show; `real-…` is what tools of this machine print when
 * the bench runs. The rule was made with the first set of each; the second was held back. With --against also what the
 * engine of another commit keeps and saves. With --check the listings are made and not pruned. Exits with 1 if a
 * needed row is lost.
 */
import { parseArgs } from 'node:util';
import { planPrune } from '../../src/engine/plan.ts';
import { splitLines } from '../../src/engine/text/lines.ts';
import { annotate, renderText } from '../../src/engine/text/render.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Plan, PruneInput } from '../../src/engine/types.ts';
import { callFacts } from '../../src/wires/transcript/tools.ts';
import { engineOf } from '../engine-speed/against.ts';
import { firstSet } from './first-set.ts';
import type { Listing } from './listing.ts';
import { makeRealListings } from './real/all.ts';
import { secondSet } from './second-set.ts';

const { values } = parseArgs({
  options: {
    set: { type: 'string', default: 'all' },
    against: { type: 'string' },
    show: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
});
const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const isWanted = (set: string): boolean => values.set === 'all' || values.set === set;

interface Result {
  readonly lost: readonly string[];
  readonly before: number;
  readonly after: number;
  readonly kind: string;
  readonly text: string;
}

function measure(planner: (input: PruneInput) => Plan, { command, goal, text, needed }: Listing): Result {
  const { hints, said } = callFacts({ name: 'bash', args: JSON.stringify({ command }) });
  const plan = planner({
    text,
    goal: `${said}\n${goal}`,
    hints,
    small: text.length < 4_000,
    limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  });
  const pruned = renderText(splitLines(text), annotate(plan.cuts, 'prn_0123456789AB'), {
    annotateLines: false,
    includeMarkers: true,
    shortMarkers: true,
  });
  const kept = new Set(pruned.split('\n'));
  const lost = needed.filter((row) => !kept.has(row));
  return { lost, before: estimateTokens(text), after: estimateTokens(pruned), kind: plan.kind, text: pruned };
}

const before = values.against && (await engineOf(values.against, process.env.MCP_PRUNER_BENCH_ROOT ?? '.'));

/** Measures one set and returns the number of needed rows that were lost. */
function measureSet(name: string, listings: readonly Listing[]): number {
  const sums = { needed: 0, lost: 0, lostBefore: 0, share: 0, shareBefore: 0 };
  for (const listing of listings) {
    if (values.show !== undefined && listing.name !== values.show) continue;
    const now = measure(planPrune, listing);
    const old = before ? measure(before, listing) : null;
    const share = 1 - now.after / now.before;
    const shareBefore = old ? 1 - old.after / old.before : 0;
    sums.needed += listing.needed.length;
    sums.lost += now.lost.length;
    sums.lostBefore += old?.lost.length ?? 0;
    sums.share += share;
    sums.shareBefore += shareBefore;
    const past = old ? `, before: ${old.lost.length} lost, ${(100 * shareBefore).toFixed(1)} %` : '';
    print(
      `${listing.name.padEnd(24)} ${now.kind.padEnd(10)} ${now.lost.length} of ${listing.needed.length} lost, ${(100 * share).toFixed(1)} % saved${past}`,
    );
    for (const row of now.lost) print(`    lost: ${row.slice(0, 110)}`);
    if (values.show !== undefined) print(now.text);
  }
  const count = listings.length;
  print(
    `\n${name}: ${count} listings, ${sums.needed} needed rows: ${sums.lost} lost, ${((100 * sums.share) / count).toFixed(1)} % saved on average`,
  );
  if (before)
    print(`before: ${sums.lostBefore} lost, ${((100 * sums.shareBefore) / count).toFixed(1)} % saved on average`);
  print('');
  return sums.lost;
}

let lost = 0;
if (isWanted('first')) lost += measureSet('first', firstSet);
if (isWanted('second')) lost += measureSet('second', secondSet);
for (const held of [false, true]) {
  const set = held ? 'real-second' : 'real-first';
  if (!isWanted(set)) continue;
  const { listings, failures } = await makeRealListings((one) => one.held === held);
  for (const failure of failures) print(`not made: ${failure}`);
  if (!values.check) lost += measureSet(set, listings);
  else print(`${set}: ${listings.length} listings made`);
}
if (lost > 0) process.exitCode = 1;
