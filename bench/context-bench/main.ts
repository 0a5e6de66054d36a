/**
 * ContextBench as cases of the ruler: issues with the lines that people marked as needed, each gold file whole at its base commit.
 *   node bench/run.mjs context-bench <contextbench_verified_test.parquet> <folder of bare repositories> > cases.jsonl
 *   node bench/run.mjs ruler cases.jsonl
 *
 * The parquet file is `Context-Bench/data/contextbench_verified_test.parquet` of github.com/anonymousUser2026/ContextBench. A
 * repository is `<folder>/<owner>+<name>`, or `repo` in it; issues of missing ones are left out and counted. Read once for a
 * release, and never tuned on.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { z } from 'zod';

const issueRow = z.object({
  original_inst_id: z.string(),
  base_commit: z.string(),
  gold_context: z.string(),
  problem_statement: z.string(),
});
const goldSpans = z.array(
  z.object({ file: z.string(), start_line: z.number(), end_line: z.number(), content: z.string() }),
);
type Issue = z.infer<typeof issueRow>;
type GoldSpan = z.infer<typeof goldSpans>[number];

const DOCS = /\.(?:md|mdx|rst|txt)$/i;
/** Text that is neither code nor prose. */
const DATA = /\.(?:json|ya?ml|toml|lock|svg|xml|csv|mrc)$/i;
/** A shorter file is never cut. */
const LEAST_CHARS = 4_000;
/** Share of the marked lines that the file must have at their numbers. */
const LEAST_MATCH = 0.9;

const [parquet = '', folder = ''] = process.argv.slice(2);
if (!existsSync(parquet) || !existsSync(folder)) {
  process.stderr.write('usage: node bench/run.mjs context-bench <file.parquet> <folder of bare repositories>\n');
  process.exit(2);
}

const repositories = new Map(
  readdirSync(folder).map((name) => {
    const inner = join(folder, name, 'repo');
    return [name.toLowerCase(), existsSync(inner) ? inner : join(folder, name)];
  }),
);

/** `cli__cli-5973` and `instance_ansible__ansible-bec…` name the repository as `owner__name`. */
function repositoryOf({ original_inst_id: id }: Issue): string | undefined {
  const [, owner = '', name = ''] = /^(?:instance_)?([^_]+(?:_[^_]+)*)__(.+?)-(?:\d+|[0-9a-f]{40}.*)$/.exec(id) ?? [];
  return repositories.get(`${owner}+${name}`.toLowerCase());
}

function fileAt(repository: string, commit: string, path: string): string | null {
  try {
    return execFileSync('git', ['-C', repository, 'show', `${commit}:${path}`], {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null; // not at this commit, or not in this clone
  }
}

/** The marked lines of a file, if it has their texts at their numbers. */
function goldOf(lines: readonly string[], spans: readonly GoldSpan[]): number[] | null {
  const gold = new Set<number>();
  let matching = 0;
  for (const { start_line: from, end_line: to, content } of spans) {
    const marked = content.split('\n').map((line) => line.replace(/^\d+\t/, '').trim());
    for (let n = from; n <= to; n++) {
      gold.add(n);
      if ((lines[n - 1] ?? '').trim() === (marked[n - from] ?? '').trim()) matching++;
    }
  }
  return matching >= LEAST_MATCH * gold.size ? [...gold].sort((a, b) => a - b) : null;
}

const rows = z.array(issueRow).parse(await parquetReadObjects({ file: await asyncBufferFromFile(parquet) }));
const counts = { issues: 0, 'issues without repository': 0, cases: 0, 'not at the commit': 0, other: 0, moved: 0 };
for (const issue of rows) {
  const repository = repositoryOf(issue);
  if (repository === undefined) {
    counts['issues without repository']++;
    continue;
  }
  const byFile = new Map<string, GoldSpan[]>();
  for (const span of goldSpans.parse(JSON.parse(issue.gold_context))) {
    const path = span.file.replace(/^\/workspace\/[^/]+__[^/]+\//, '');
    byFile.set(path, [...(byFile.get(path) ?? []), span]);
  }
  const before = counts.cases;
  for (const [path, spans] of byFile) {
    const text = fileAt(repository, issue.base_commit, path);
    const lines = text?.split('\n') ?? [];
    const gold = text === null ? null : goldOf(lines, spans);
    if (text === null) counts['not at the commit']++;
    else if (DATA.test(path) || text.length < LEAST_CHARS) counts.other++;
    else if (gold === null) counts.moved++;
    else if (gold.length < lines.length) {
      counts.cases++;
      const source = DOCS.test(path) ? 'docs' : 'code';
      const about = { id: `${issue.original_inst_id} ${path}`, family: source, source_type: source, path };
      process.stdout.write(`${JSON.stringify({ ...about, goal_hint: issue.problem_statement, text, gold })}\n`);
    }
  }
  if (counts.cases > before) counts.issues++;
}
process.stderr.write(`${rows.length} rows: ${JSON.stringify(counts)}\n`);
