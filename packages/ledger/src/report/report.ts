import { readsOwnLengths } from '@mcp-pruner/agents/own-lengths.ts';
import { type Call, type Command, configOption, type Io, type Option, UsageError } from 'mcp-pruner/cli/command.ts';
import { SPENT_BY } from 'mcp-pruner/core/ports/spend.ts';
import { daysOf } from './since.ts';

const DEFAULT_DAYS = 7;
const DEFAULT_SESSION_DAYS = 30;

/** A view of the report, selected by an option of the same name. @returns the exit code */
type View = (call: Call, io: Io) => Promise<number>;

const VIEWS: Readonly<Record<string, { readonly takes: readonly string[]; readonly show: View }>> = {
  tokens: {
    takes: ['since', 'json'],
    show: async (call, io) => (await import('./tokens.ts')).tokensView(call, io, daysOf(call, DEFAULT_DAYS)),
  },
  by: {
    takes: ['since', 'project', 'csv', 'json'],
    show: async (call, io) => (await import('./by.ts')).spendView(call, io, daysOf(call, DEFAULT_DAYS)),
  },
  prices: { takes: ['json'], show: async (call, io) => (await import('./prices.ts')).pricesView(call, io) },
  live: {
    takes: ['since', 'run', 'tool', 'kind', 'once', 'json'],
    show: async (call, io) => (await import('./live.ts')).liveView(call, io),
  },
  sessions: { takes: ['since', 'share', 'cuts', 'pessimistic', 'json'], show: sessionsView },
  status: { takes: ['hook'], show: async (call, io) => (await import('./status.ts')).statusView(call, io) },
  from: { takes: ['json'], show: async (call, io) => (await import('./from.ts')).comparedView(call, io) },
};
/** Options of the default report. */
const PLAIN = ['since', 'project', 'html', 'json'];

const options: Readonly<Record<string, Option>> = {
  ...configOption,
  tokens: { type: 'boolean', doc: 'tokens instead of dollars, each text once: by day and model, tool, wire' },
  by: { type: 'string', value: '<what>', doc: `a row for each ${SPENT_BY.join(', ')}: tokens, dollars, saved` },
  prices: {
    type: 'string',
    value: '[model]',
    optional: /^[^-]/,
    doc: 'dollars per million tokens of each model, or the row that fits one (exit code 1: none fits)',
  },
  live: { type: 'boolean', doc: 'follow what the proxy does: what was cut, where and why. Ends with Ctrl-C' },
  sessions: { type: 'boolean', doc: 'what pruning would have changed in the sessions on this machine' },
  status: { type: 'boolean', doc: 'one line: whether the proxy runs (exit code 1: no), and what it saved in 7 days' },
  hook: {
    type: 'boolean',
    doc: 'with --status: as a session-start hook of an agent answers; starts the proxy with MCP_PRUNER_START_FROM_HOOK=true',
  },
  since: {
    type: 'string',
    value: '<time>',
    doc: `how far back, such as 1d, 2w, 1y (default ${DEFAULT_DAYS}d; --sessions ${DEFAULT_SESSION_DAYS}d); --live: 90s, 10m, 2h, 1d`,
  },
  project: { type: 'string', value: '<name>', doc: 'only this project' },
  json: { type: 'boolean', doc: 'print JSON' },
  csv: { type: 'boolean', doc: 'with --by: print CSV' },
  html: { type: 'string', value: '<file>', doc: 'write a self-contained HTML file' },
  share: { type: 'boolean', doc: 'with --sessions: a block of figures to post, without paths, names or texts' },
  cuts: { type: 'boolean', doc: 'with --sessions: what cuts would have saved, in however many sessions (minutes)' },
  pessimistic: { type: 'boolean', doc: 'with --sessions: compactions with long summaries, and files read again' },
  from: { type: 'string', value: '<file>', doc: 'compare the conversations of a file with its control group' },
  run: { type: 'string', value: '<id>', doc: 'with --live: only this run (a conversation)' },
  tool: { type: 'string', value: '<name>', doc: 'with --live: only results of this tool' },
  kind: { type: 'string', value: '<kinds>', doc: 'with --live: only these kinds, such as pruned,fallback' },
  once: { type: 'boolean', doc: 'with --live: print the events so far and exit' },
};

export const report: Command = {
  usage: 'report [--since 7d] [--tokens | --by <what> | --prices [model] | --live | --sessions | --status] [--json]',
  about: [
    'Shows what requests cost in dollars, what pruning saved and what its mistakes cost, the control group, and why the',
    'prompt cache missed. --sessions instead reads the session files that agents keep on this machine (Claude Code, Codex,',
    'opencode, Kilo, Gemini CLI, Qwen Code, Kimi Code, pi, Cline, Copilot CLI): what they cost, and what pruning would have',
    'changed. Nothing is sent or stored.',
  ].join('\n'),
  options,
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    readsOwnLengths(io.env, io.homeDir);
    const view = viewOf(call);
    if (view !== null) return view(call, io);
    return (await import('./ledger.ts')).ledgerView(call, io, daysOf(call, DEFAULT_DAYS));
  },
};

/** The selected view; `null` for the default report. @throws UsageError for conflicting options */
function viewOf(call: Call): View | null {
  const given = Object.keys(call.values).filter((name) => name !== 'config');
  const exclusive = (names: readonly string[]): void => {
    if (names.length > 1)
      throw new UsageError(`--${names[0]} and --${names[1]} exclude each other: run report for each`);
  };
  const chosen = given.filter((name) => Object.hasOwn(VIEWS, name));
  exclusive(chosen);
  exclusive(given.filter((name) => ['html', 'csv', 'json', 'share'].includes(name)));
  const [name = ''] = chosen;
  const takes = VIEWS[name]?.takes ?? PLAIN;
  const stray = given.find((one) => one !== name && !takes.includes(one));
  if (stray === undefined) return VIEWS[name]?.show ?? null;
  const needed = Object.keys(VIEWS).filter((view) => VIEWS[view]?.takes.includes(stray));
  const needs = needed.map((view) => `--${view}`).join(' or ') || 'no view';
  throw new UsageError(name === '' ? `--${stray} needs ${needs}` : `--${name} takes no --${stray}`);
}

function sessionsView(call: Call, io: Io): Promise<number> {
  const { reportSessions } = io.edition;
  if (reportSessions === undefined) throw new UsageError('this edition reads no sessions: omit --sessions');
  return reportSessions(call, io, daysOf(call, DEFAULT_SESSION_DAYS));
}
