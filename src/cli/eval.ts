import { parseArgs } from 'node:util';
import { planPrune } from '../engine/plan.ts';
import type { Origin } from '../engine/types.ts';
import { SampleReport, sampleCases } from '../eval/cases.ts';
import { evaluateCase, newTotals } from '../eval/evaluate.ts';
import { GitError, openRepository } from '../eval/git.ts';
import { ProgressBar } from '../eval/progress.ts';
import { buildReport, renderReport } from '../eval/report.ts';

export const EVAL_USAGE = `usage: mcp-pruner eval --git <repository> [options]

Measures the pruner on a repository's own history: for past commits, the message is the goal, each touched file before
the commit is the text, and the lines that the commit changed are those that had to stay.

  --git <path>            a git repository, bare or not
  --cases <n>             files to try, at most (300)
  --ratio <r,r,…>         max_prune_ratio values (0.5,0.7,0.85)
  --min-keep-lines <n>    fewest lines that stay (20)
  --origin <origin>       how the text came in: unknown, or read as for a file that an agent opens (unknown)
  --max-files <n>         a commit that touches more files is a mass edit (20)
  --seed <n>              another seed draws other commits (1)
  --json                  the report as JSON
`;

/** Where a command writes to; a test hands in its own. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether `err` is a terminal that a progress bar may be drawn on. */
  readonly isTty: boolean;
}

interface EvalArguments {
  readonly git: string;
  readonly cases: number;
  readonly ratios: readonly number[];
  readonly minKeepLines: number;
  readonly origin: Origin;
  readonly maxFiles: number;
  readonly seed: number;
  readonly json: boolean;
}

class UsageError extends Error {}

function whole(name: string, value: string, least: number): number {
  const n = Number(value);
  if (!Number.isSafeInteger(n) || n < least)
    throw new UsageError(`--${name} takes a whole number from ${least} on, not "${value}"`);
  return n;
}

function parse(args: readonly string[]): EvalArguments | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      git: { type: 'string' },
      cases: { type: 'string', default: '300' },
      ratio: { type: 'string', default: '0.5,0.7,0.85' },
      'min-keep-lines': { type: 'string', default: '20' },
      origin: { type: 'string', default: 'unknown' },
      'max-files': { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  if (values.git === undefined || values.git === '') throw new UsageError('--git <repository> is missing');
  const ratios = [...new Set(values.ratio.split(',').map(Number))].sort((a, b) => a - b);
  if (ratios.some((ratio) => !(ratio > 0 && ratio < 1))) {
    throw new UsageError(`--ratio takes numbers between 0 and 1, not "${values.ratio}"`);
  }
  const { origin } = values;
  if (origin !== 'unknown' && origin !== 'read') throw new UsageError(`--origin is unknown or read, not "${origin}"`);
  return {
    git: values.git,
    cases: whole('cases', values.cases, 1),
    ratios,
    minKeepLines: whole('min-keep-lines', values['min-keep-lines'], 0),
    origin,
    maxFiles: whole('max-files', values['max-files'], 1),
    seed: whole('seed', values.seed, 0),
    json: values.json,
  };
}

async function evaluate(options: EvalArguments, terminal: Terminal): Promise<number> {
  const { git, cases, seed, maxFiles, ratios, minKeepLines, origin } = options;
  const repo = await openRepository(git);
  const sample = new SampleReport();
  const totals = newTotals();
  const bar = new ProgressBar(terminal.isTty ? terminal.err : null, cases);
  const onProgress = (made: number, seen: number): void => bar.show(made, `${seen} commits looked at`);
  try {
    for await (const item of sampleCases(repo, { cases, seed, maxFiles, onProgress }, sample)) {
      evaluateCase(item, { ratios, minKeepLines, origin, plan: planPrune }, totals);
    }
  } finally {
    bar.clear();
  }
  if (totals.rows.length === 0) {
    const reasons = [...sample.skipped].map(([reason, count]) => `${reason} ${count}`).join(', ');
    terminal.err(`mcp-pruner eval: no usable commit in ${git} (${reasons || 'no commit with a parent'})\n`);
    return 1;
  }
  const report = buildReport(totals, sample, { repository: git, head: repo.head, seed, origin, minKeepLines, ratios });
  terminal.out(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report));
  return 0;
}

/**
 * `mcp-pruner eval`.
 *
 * @returns the exit code: 0 measured, 1 nothing to measure (no repository, no usable commit, git failed), 2 wrong use
 */
export async function runEval(args: readonly string[], terminal: Terminal): Promise<number> {
  let options: EvalArguments | null;
  try {
    options = parse(args);
  } catch (cause) {
    terminal.err(`mcp-pruner eval: ${cause instanceof Error ? cause.message : String(cause)}\n\n${EVAL_USAGE}`);
    return 2;
  }
  if (options === null) {
    terminal.out(EVAL_USAGE);
    return 0;
  }
  try {
    return await evaluate(options, terminal);
  } catch (cause) {
    if (!(cause instanceof GitError)) throw cause;
    terminal.err(`mcp-pruner eval: ${cause.message}\n`);
    return 1;
  }
}
