import type { LazyCommand } from './cli/command.ts';

/** All commands of the program and its parts, in the order of the help. Each is loaded when called. */
export const commands: Readonly<Record<string, LazyCommand>> = {
  run: {
    group: 'daily',
    summary: 'start an agent through the proxy',
    load: async () => (await import('@mcp-pruner/agents/run/run.ts')).run,
  },
  setup: {
    group: 'daily',
    summary: "print or write an agent's configuration, or a script that completes commands",
    load: async () =>
      (await import('@mcp-pruner/agents/completion.ts')).withCompletion(
        (await import('@mcp-pruner/agents/setup.ts')).setup,
        commands,
      ),
  },
  report: {
    group: 'daily',
    summary: 'show dollars, tokens, tools and prices, in one line, live, or of past sessions',
    load: async () => (await import('@mcp-pruner/ledger/report/report.ts')).report,
  },
  recover: {
    group: 'daily',
    summary: 'print the original behind a prune id',
    load: async () => (await import('./cli/recover.ts')).recover,
  },
  recall: {
    group: 'daily',
    summary: 'search earlier tool results',
    load: async () => (await import('@mcp-pruner/recall/command.ts')).recall,
  },
  limits: {
    group: 'daily',
    summary: 'show what your subscriptions have left, or a status line about a session',
    load: async () => (await import('@mcp-pruner/limits/command.ts')).limitsCommand,
  },
  why: {
    group: 'daily',
    summary: 'say why lines of a text were kept or cut, and show them',
    load: async () => (await import('@mcp-pruner/why/command.ts')).why,
  },
  serve: {
    group: 'server',
    summary: 'run the proxy',
    load: async (edition) => (await import('./cli/serve.ts')).serve(await edition()),
  },
  service: {
    group: 'server',
    summary: 'run the proxy in the background: install, status, logs, remove',
    load: async () => (await import('@mcp-pruner/agents/service/service.ts')).service,
  },
  doctor: {
    group: 'server',
    summary: 'check that everything is in order, and say what to do',
    load: async () => (await import('@mcp-pruner/agents/doctor/doctor.ts')).doctor,
  },
  config: {
    group: 'server',
    summary: 'print the effective configuration',
    load: async () => (await import('./cli/config.ts')).config,
  },
  keys: {
    group: 'team',
    summary: 'make, list, revoke and rotate keys of a shared proxy',
    load: async () => (await import('@mcp-pruner/team/keys/seat/command.ts')).keys,
  },
  projects: {
    group: 'team',
    summary: 'show and change the settings that projects have of their own',
    load: async () => (await import('@mcp-pruner/team/operate/projects.ts')).projects,
  },
  store: {
    group: 'team',
    summary: 'move everything into another store, or erase a project or a person',
    load: async () => (await import('@mcp-pruner/team/operate/store.ts')).store,
  },
  demo: {
    group: 'lab',
    summary: 'show pruning offline, without a key',
    load: async () => (await import('@mcp-pruner/agents/demo/demo.ts')).demo,
  },
  // used in agents' configurations, hence not listed
  stdio: {
    summary: 'serve MCP over stdin and stdout',
    load: async (edition) => (await import('@mcp-pruner/stdio/command.ts')).stdio(await edition()),
  },
};

/** Short forms, which hooks, status lines and shells call. */
export const aliases: Readonly<Record<string, readonly string[]>> = {
  status: ['report', '--status'],
  statusline: ['limits', '--line'],
  completion: ['setup', '--completion'],
  erase: ['store', 'erase'],
};
