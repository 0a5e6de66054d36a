import type { LazyCommand } from './cli/command.ts';

/** All commands of the program and its parts, in the order of the help. Each is loaded when called. */
export const commands: Readonly<Record<string, LazyCommand>> = {
  run: {
    group: 'daily',
    summary: 'start an agent through the proxy',
    load: async () => (await import('./cli/run/run.ts')).run,
  },
  setup: {
    group: 'daily',
    summary: "print or write an agent's configuration",
    load: async () => (await import('./cli/setup.ts')).setup,
  },
  report: {
    group: 'daily',
    summary: 'show dollars, tokens, tools and prices, follow live, or read past sessions',
    load: async () => (await import('./cli/report/report.ts')).report,
  },
  status: {
    group: 'daily',
    rare: true,
    summary: 'say in one line whether the proxy runs and what it saved',
    load: async () => (await import('./cli/status.ts')).status,
  },
  recover: {
    group: 'daily',
    summary: 'print the original behind a prune id',
    load: async () => (await import('./cli/recover.ts')).recover,
  },
  recall: {
    group: 'daily',
    summary: 'search earlier tool results',
    load: async () => (await import('./cli/recall.ts')).recall,
  },
  limits: {
    group: 'daily',
    summary: 'show what your subscriptions have left, and which session used it',
    load: async () => (await import('@mcp-pruner/limits/command.ts')).limitsCommand,
  },
  statusline: {
    group: 'daily',
    summary: 'print a line about a session: context, cache, limits, savings',
    load: async () => (await import('@mcp-pruner/limits/statusline/command.ts')).statusline,
  },
  why: {
    group: 'daily',
    summary: 'say why lines of a text were kept or cut, and show them',
    load: async () => (await import('./cli/why.ts')).why,
  },
  serve: {
    group: 'server',
    summary: 'run the proxy',
    load: async (edition) => (await import('./cli/serve.ts')).serve(await edition()),
  },
  service: {
    group: 'server',
    summary: 'run the proxy in the background: install, status, logs, remove',
    load: async () => (await import('./cli/service/service.ts')).service,
  },
  doctor: {
    group: 'server',
    summary: 'check that everything is in order, and say what to do',
    load: async () => (await import('./cli/doctor/doctor.ts')).doctor,
  },
  config: {
    group: 'server',
    summary: 'print the effective configuration',
    load: async () => (await import('./cli/config.ts')).config,
  },
  completion: {
    group: 'server',
    rare: true,
    summary: 'print a script that completes commands in bash, zsh or fish',
    load: async () => (await import('./cli/completion.ts')).completionOf(commands),
  },
  keys: {
    group: 'team',
    summary: 'make, list, revoke and rotate keys of a shared proxy',
    load: async () => (await import('@mcp-pruner/team/keys/seat/command.ts')).keys,
  },
  projects: {
    group: 'team',
    summary: 'show and change the settings that projects have of their own',
    load: async () => (await import('./cli/projects.ts')).projects,
  },
  erase: {
    group: 'team',
    rare: true,
    summary: 'erase a project or a person, with a proof',
    load: async () => (await import('./cli/erase.ts')).erase,
  },
  store: {
    group: 'team',
    rare: true,
    summary: 'move everything into another store',
    load: async () => (await import('./cli/store.ts')).store,
  },
  demo: {
    group: 'lab',
    summary: 'show pruning offline, without a key',
    load: async () => (await import('./cli/demo/demo.ts')).demo,
  },
  // used in agents' configurations, hence not listed
  stdio: {
    summary: 'serve MCP over stdin and stdout',
    load: async (edition) => (await import('./cli/stdio.ts')).stdio(await edition()),
  },
};

/** Earlier command names, with their replacements. */
export const renamed: Readonly<Record<string, string>> = {
  stats: 'report --tokens',
  prices: 'report --prices',
  tail: 'report --live',
  diff: 'why <prune_id> --lines',
};
