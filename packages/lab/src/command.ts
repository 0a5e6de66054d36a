import { ProgressBar } from '@mcp-pruner/sessions/progress.ts';
import { type Call, type Command, type Io, textOption, UsageError } from 'mcp-pruner/cli/command.ts';
import { planPrune } from 'mcp-pruner/engine/plan.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { SampleReport, sampleCases } from './cases.ts';
import { type EvaluateOptions, evaluateCase, newTotals } from './evaluate.ts';
import { openRepository } from './git.ts';
import { buildReport, renderReport } from './report.ts';

/** Parses a whole-number option, or returns its default. */
function wholeOption(call: Call, name: string, least: number, otherwise: number): number {
  const text = textOption(call, name);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && /^\d+$/.test(text)) return value;
  throw new UsageError(`--${name} takes a whole number, ${least} or more, not ${JSON.stringify(text)}`);
}

/** The last ratio is the proxy's default; two milder ones show the curve. */
const DEFAULT_RATIOS = '0.5,0.7,0.9';

function ratiosOf(call: Call): number[] {
  const text = textOption(call, 'ratio') ?? DEFAULT_RATIOS;
  const ratios = [...new Set(text.split(',').map(Number))].sort((a, b) => a - b);
  if (ratios.every((ratio) => ratio > 0 && ratio < 1)) return ratios;
  throw new UsageError(`--ratio takes numbers between 0 and 1 with commas between them, not ${JSON.stringify(text)}`);
}

function originOf(call: Call): 'unknown' | 'read' {
  const origin = textOption(call, 'origin') ?? 'read';
  if (origin === 'unknown' || origin === 'read') return origin;
  throw new UsageError(`--origin is unknown or read, not ${JSON.stringify(origin)}`);
}

/** `mcp-pruner eval`: measures how well the pruner keeps lines changed by a repository's next commits. */
export const evalCommand: Command = {
  usage: 'eval --git <repository> [options]',
  about: [
    "Measures the pruner on a repository's own history: the message of a past commit is the goal, each file it touched,",
    'as it was before, is the text, and the lines that it changed are those that had to stay. Simple baselines',
    'are measured at the same budget. Nothing in the repository is changed or executed.',
  ].join('\n'),
  options: {
    git: { type: 'string', value: '<repository>', doc: 'a git repository, bare or not' },
    cases: { type: 'string', value: '<n>', doc: 'maximum number of files to test (default 300)' },
    ratio: { type: 'string', value: '<r,r,…>', doc: `values of max_prune_ratio (${DEFAULT_RATIOS})` },
    'min-keep-lines': { type: 'string', value: '<n>', doc: 'minimum number of lines to keep (default 20)' },
    origin: {
      type: 'string',
      value: '<origin>',
      doc: 'origin of the texts: read (a file that an agent opens) or unknown (default read)',
    },
    'max-files': { type: 'string', value: '<n>', doc: 'skip commits that touch more files (default 20)' },
    seed: { type: 'string', value: '<n>', doc: 'seed for the choice of commits (default 1)' },
    json: { type: 'boolean', doc: 'print the report as JSON' },
  },
  arguments: { min: 0, max: 0 },
  async run(call, io) {
    const path = textOption(call, 'git');
    if (path === undefined) throw new UsageError('--git <repository> is missing');
    const cases = wholeOption(call, 'cases', 1, 300);
    const seed = wholeOption(call, 'seed', 0, 1);
    const maxFiles = wholeOption(call, 'max-files', 1, 20);
    const options: EvaluateOptions = {
      ratios: ratiosOf(call),
      minKeepLines: wholeOption(call, 'min-keep-lines', 0, 20),
      origin: originOf(call),
      plan: planPrune,
    };
    return await evaluate({ path, cases, seed, maxFiles, json: call.values.json === true }, options, io);
  },
};

interface Source {
  readonly path: string;
  readonly cases: number;
  readonly seed: number;
  readonly maxFiles: number;
  readonly json: boolean;
}

async function evaluate(source: Source, options: EvaluateOptions, io: Io): Promise<number> {
  const { path, cases, seed, maxFiles } = source;
  const repo = await openRepository(path);
  const sample = new SampleReport();
  const totals = newTotals();
  const bar = new ProgressBar(io.errIsTerminal ? io.err : null, cases);
  const onProgress = (made: number, seen: number): void => bar.show(made, `${seen} commits examined`);
  try {
    for await (const item of sampleCases(repo, { cases, seed, maxFiles, onProgress }, sample)) {
      evaluateCase(item, options, totals);
    }
  } finally {
    bar.clear();
  }
  if (totals.rows.length === 0) {
    const reasons = [...sample.skipped].map(([reason, count]) => `${reason} ${count}`).join(', ');
    throw new UserError(`no usable commit in ${path} (${reasons || 'no commit with a parent'})`);
  }
  const report = buildReport(totals, sample, { repository: path, head: repo.head, seed, ...options });
  io.out(source.json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report, io.columns));
  return 0;
}
