import { goalTerms } from './goal-terms.ts';
import { recogniseKind } from './kinds.ts';
import { formatMarker } from './marker.ts';
import { withOpinions } from './opinions.ts';
import { protectLines } from './protect.ts';
import { rankLines } from './rank.ts';
import { reasonFor } from './reason.ts';
import { chooseRuns } from './select.ts';
import { estimateTokens } from './tokens.ts';
import type { Cut, Plan, PlanWarning, PruneInput } from './types.ts';
import { findUnits } from './units.ts';
import { type View, viewText } from './view.ts';

const SAMPLE_ID = 'prn_0123456789ab';
const LEAST_SAVED_TOKENS = 150;
const LEAST_SAVED_SHARE = 0.1;

/**
 * Decides which lines of a text go. Pure: the same input gives the same plan; linear in the text's length.
 *
 * A plan without cuts and without warnings means that cutting does not pay. Never throws on any text or goal.
 */
export function planPrune(input: PruneInput): Plan {
  const view = viewText(input.text, input.hints?.frameHead ?? 0);
  const kind = recogniseKind(view, input.sourceType, input.hints);
  const whole = (...warnings: PlanWarning[]): Plan => ({
    sourceType: kind.sourceType,
    kind: kind.name,
    lineCount: view.n,
    cuts: [],
    warnings,
  });
  const { maxPruneRatio, minKeepLines } = input.limits;
  if (minKeepLines > view.n) return whole('constraints_unmet');
  if (input.shouldStop?.()) return whole('timeout');
  const budget = Math.min(Math.floor(maxPruneRatio * view.n + 1e-9), view.n - minKeepLines);
  if (budget < 1) return whole();

  const terms = goalTerms(input.goal);
  const units = findUnits(view, kind);
  const keep = protectLines(view, kind, input.hints);
  if (input.shouldStop?.()) return whole('timeout');
  const ranking = rankLines(view, kind, units, terms);
  if (input.shouldStop?.()) return whole('timeout');
  const tokens = tokensByLine(view);
  const runs = chooseRuns(
    withOpinions(input.externalScores, {
      n: view.n,
      value: ranking.value,
      tokens,
      keep,
      glued: units.glued,
      parting: new Float64Array(view.n),
      markerTokens: 42,
      price: 0.03,
      budget,
    }),
  );
  const cuts: Cut[] = [];
  let saved = 0;
  for (const run of runs) {
    const cut = { startLine: run.from + 1, endLine: run.to + 1, reason: reasonFor(view, kind, terms, run) };
    let net = -estimateTokens(`${formatMarker({ pruneId: SAMPLE_ID, ...cut })}\n`);
    for (let i = run.from; i <= run.to; i++) net += tokens[i] ?? 0;
    if (net <= 0) continue;
    saved += net;
    cuts.push(cut);
  }
  let total = 0;
  for (const t of tokens) total += t;
  if (saved < LEAST_SAVED_TOKENS || saved < LEAST_SAVED_SHARE * total) return whole();
  if (input.shouldStop?.()) return whole('timeout');
  return { ...whole(), cuts };
}

function tokensByLine(view: View): Float64Array {
  const out = new Float64Array(view.n);
  for (let i = 0; i < view.n; i++) {
    out[i] = estimateTokens(view.text, view.lines.starts[i] ?? 0, view.lines.starts[i + 1] ?? 0);
  }
  return out;
}
