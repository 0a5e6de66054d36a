/**
 * Turns public recordings of agents into conversations, one JSON line each, for `bench -- bill`:
 *   git clone --bare https://github.com/badlogic/pi-mono.git
 *   node bench/run.mjs recordings pi pi-mono.git >> recordings.jsonl
 *   node bench/run.mjs recordings roo Roo-Code.git >> recordings.jsonl
 *   node bench/run.mjs recordings swe-agent auto-code-rover.git --every 6 >> recordings.jsonl
 *   node bench/run.mjs recordings claude-code cli.git >> recordings.jsonl
 *   node bench/run.mjs recordings codex agentv.git >> recordings.jsonl
 *   node bench/run.mjs recordings opencode nimbus.git >> recordings.jsonl
 *   node bench/run.mjs recordings copilot agentv.git >> recordings.jsonl
 *   node bench/run.mjs recordings mini-swe-agent terminal-bench-leaderboard.git --every 4 >> recordings.jsonl
 *
 * Reads what was ever added to the repository; `--every n` takes each n-th file, told by a hash of its path.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import type { Form, Recording } from './conversation.ts';
import { copilot } from './copilot.ts';
import { miniSweAgent } from './mini-swe-agent.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { roo } from './roo.ts';
import { sweAgent } from './swe-agent.ts';

const FORMS: Readonly<Record<string, Form>> = {
  pi,
  roo,
  'swe-agent': sweAgent,
  'mini-swe-agent': miniSweAgent,
  'claude-code': claudeCode,
  codex,
  opencode,
  copilot,
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { every: { type: 'string' } } });
const [name = '', repository = ''] = positionals;
const form = FORMS[name];
if (!form || repository === '') {
  const forms = Object.entries(FORMS).map(([key, { about }]) => `  ${key}: ${about}\n`);
  process.stderr.write(
    `usage: node bench/run.mjs recordings <form> <bare git directory> [--every n]\n${forms.join('')}`,
  );
  process.exit(2);
}
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', repository, '-c', 'core.quotePath=false', ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });

/** The files of the form, each with a commit that added it: some repositories keep each session on a ref of its own, under the same path. */
function files({ matches }: Form): (readonly [path: string, commit: string])[] {
  const found: (readonly [path: string, commit: string])[] = [];
  let commit = '';
  for (const line of git('log', '--all', '--no-renames', '--diff-filter=A', '--name-only', '--format=commit %H').split(
    '\n',
  )) {
    if (line.startsWith('commit ')) commit = line.slice(7);
    else if (line !== '' && matches(line)) found.push([line, commit]);
  }
  return found;
}

const every = Math.max(1, Number(values.every ?? 1));
const chosen = files(form).filter(([path]) => createHash('sha256').update(path).digest().readUInt32BE() % every === 0);
/** Of files that tell the same conversation, as far as it had gone, the one that tells most of it. */
const longest = new Map<string, Recording>();
let unreadable = 0;
for (const [path, commit] of chosen.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  try {
    for (const recording of form.read(git('show', `${commit}:${path}`), path)) {
      const known = longest.get(recording.name);
      if (!known || known.messages.length < recording.messages.length) longest.set(recording.name, recording);
    }
  } catch {
    unreadable++; // broken off, or not in this clone
  }
}
for (const recording of longest.values()) process.stdout.write(`${JSON.stringify(recording)}\n`);
process.stderr.write(`${chosen.length} files, ${longest.size} conversations, ${unreadable} files not read\n`);
