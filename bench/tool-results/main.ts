/**
 * Real tool results, each with a question and what its answer needs: node bench/run.mjs tool-results
 *   [--only <part of a name or kind>] [--show <name>] [--raw] [--json] [--empty-goal] [--way tool|shell|none]
 * Exits with 1 when a fragment is lost, a case grows, a line changes, or less than 55 % of the tokens are saved.
 */
import { parseArgs } from 'node:util';
import { KINDS } from './case.ts';
import { cases } from './cases.ts';
import { type Measured, measure, WrongCase } from './measure.ts';
import { Unavailable, Workshop } from './workshop.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    show: { type: 'string' },
    raw: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'empty-goal': { type: 'boolean', default: false },
    /** What the first marker says of having lines back. */
    way: { type: 'string', default: 'tool' },
    'max-prune-ratio': { type: 'string', default: '0.9' },
    'min-keep-lines': { type: 'string', default: '20' },
  },
});
const out = (line: string): boolean => process.stdout.write(`${line}\n`);
const limits = { maxPruneRatio: Number(values['max-prune-ratio']), minKeepLines: Number(values['min-keep-lines']) };

const way = values.way === 'tool' || values.way === 'shell' ? values.way : null;

const workshop = new Workshop(process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd());
const measured: Measured[] = [];
const unavailable: string[] = [];
const wrong: string[] = [];
try {
  const wanted = cases.filter(({ name, kind }) =>
    values.show === undefined ? name.includes(values.only) || kind.includes(values.only) : name === values.show,
  );
  for (const item of wanted) {
    try {
      const text = await item.make(workshop);
      if (values.raw) {
        process.stdout.write(text);
        continue;
      }
      const otherGoal = cases[(cases.indexOf(item) + Math.floor(cases.length / 2)) % cases.length]?.goal ?? '';
      const result = measure(values['empty-goal'] ? { ...item, goal: '' } : item, text, { limits, way }, otherGoal);
      measured.push(result);
      if (values.show !== undefined) process.stdout.write(`${result.pruned}\n=====\n${text}\n`);
    } catch (cause) {
      if (!(cause instanceof Unavailable) && !(cause instanceof WrongCase))
        throw new Error(`case ${item.name}`, { cause });
      (cause instanceof WrongCase ? wrong : unavailable).push(`${item.name}: ${cause.message}`);
    }
  }
} finally {
  workshop.close();
}

const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
const sum = (list: readonly Measured[], of: (m: Measured) => number): number => list.reduce((a, m) => a + of(m), 0);

function totals(list: readonly Measured[]): Record<string, number> {
  return {
    cases: list.length,
    tokensBefore: sum(list, (m) => m.tokensBefore),
    tokensAfter: sum(list, (m) => m.tokensAfter),
    fragments: sum(list, (m) => m.fragments),
    fragmentsKept: sum(list, (m) => m.fragments - m.lost.length),
    headTailKept: sum(list, (m) => m.headTailKept),
    bm25Kept: sum(list, (m) => m.bm25Kept),
    grown: list.filter((m) => m.tokensAfter > m.tokensBefore).length,
    cut: list.filter((m) => m.keptLines < m.lines).length,
    followsGoal: list.filter((m) => m.followsGoal).length,
    altered: list.filter((m) => !m.verbatim).length,
  };
}

const total = totals(measured);
if (values.json) {
  out(JSON.stringify({ total, measured: measured.map(({ pruned, ...rest }) => rest), unavailable }, null, 2));
} else {
  for (const m of measured) {
    const saved = percent(m.tokensBefore - m.tokensAfter, m.tokensBefore);
    out(
      `${m.name.padEnd(34)} ${m.planKind.padEnd(14)} ${String(m.lines).padStart(6)} lines ` +
        `${String(m.tokensBefore).padStart(7)} → ${String(m.tokensAfter).padStart(6)} ${saved.padStart(7)}  ` +
        `fragments ${m.fragments - m.lost.length}/${m.fragments}` +
        `${m.verbatim ? '' : '  LINES ALTERED'}${m.tokensAfter > m.tokensBefore ? '  GREW' : ''}`,
    );
    for (const fragment of m.lost) out(`    lost: ${fragment}`);
  }
  out('');
  for (const kind of KINDS) {
    const list = measured.filter((m) => m.kind === kind);
    const t = totals(list);
    if (list.length === 0) continue;
    const saved = percent((t.tokensBefore ?? 0) - (t.tokensAfter ?? 0), t.tokensBefore ?? 0);
    out(
      `${kind.padEnd(20)} ${list.length} cases  saved ${saved.padStart(7)}  fragments ${t.fragmentsKept}/${t.fragments}`,
    );
  }
  for (const reason of unavailable) out(`not made: ${reason}`);
  for (const reason of wrong) out(`wrong case: ${reason}`);
}
const saved = percent((total.tokensBefore ?? 0) - (total.tokensAfter ?? 0), total.tokensBefore ?? 0);
const meanSaved = sum(measured, (m) => 1 - m.tokensAfter / Math.max(1, m.tokensBefore)) / Math.max(1, measured.length);
if (!values.json) {
  out(
    `\n${total.cases} cases: ${total.tokensBefore} → ${total.tokensAfter} tokens, saved ${saved} ` +
      `(mean of cases ${(100 * meanSaved).toFixed(1)} %); fragments kept ${total.fragmentsKept}/${total.fragments}; ` +
      `grown ${total.grown}; altered ${total.altered}; cut otherwise for another goal ${total.followsGoal}/${total.cut}; with as many lines: head+tail ${total.headTailKept}/${total.fragments}, ` +
      `bm25 ${total.bm25Kept}/${total.fragments}`,
  );
}
const enough = (total.tokensAfter ?? 0) <= 0.45 * (total.tokensBefore ?? 0);
const spoiled = wrong.length > 0 || total.grown !== 0 || total.altered !== 0;
if (!enough || spoiled || total.fragmentsKept !== total.fragments) process.exitCode = 1;
