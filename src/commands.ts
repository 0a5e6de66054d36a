import type { LazyCommand } from './cli/command.ts';

/** All commands of the program and of its parts, in the order of the help. Each loads when it is called. */
export const commands: Readonly<Record<string, LazyCommand>> = {
  serve: { summary: 'run the proxy', load: async (edition) => (await import('./cli/serve.ts')).serve(await edition()) },
  demo: { summary: 'show pruning offline, without a key', load: async () => (await import('./cli/demo/demo.ts')).demo },
  stdio: {
    summary: 'serve MCP over stdin and stdout (the default command)',
    load: async (edition) => (await import('./cli/stdio.ts')).stdio(await edition()),
  },
  run: { summary: 'start an agent through the proxy', load: async () => (await import('./cli/run/run.ts')).run },
  setup: {
    summary: "print or write an agent's configuration",
    load: async () => (await import('./cli/setup.ts')).setup,
  },
  service: {
    summary: 'run the proxy in the background: install, status, logs, remove',
    load: async () => (await import('./cli/service/service.ts')).service,
  },
  doctor: {
    summary: 'check that everything is in order, and say what to do',
    load: async () => (await import('./cli/doctor/doctor.ts')).doctor,
  },
  status: {
    summary: 'say in one line whether the proxy runs and what it saved',
    load: async () => (await import('./cli/status.ts')).status,
  },
  config: { summary: 'print the effective configuration', load: async () => (await import('./cli/config.ts')).config },
  recover: {
    summary: 'print the original behind a prune id',
    load: async () => (await import('./cli/recover.ts')).recover,
  },
  recall: {
    summary: 'search earlier tool results',
    load: async () => (await import('./cli/recall.ts')).recall,
  },
  tools: {
    summary: 'show what each declared tool costs and how often it is called',
    load: async () => (await import('./cli/tools.ts')).tools,
  },
  diff: { summary: 'show what was cut from a text', load: async () => (await import('./cli/diff.ts')).diff },
  why: {
    summary: 'say why each region of a text was kept or cut',
    load: async () => (await import('./cli/why.ts')).why,
  },
  tail: { summary: 'follow what the proxy does', load: async () => (await import('./cli/tail.ts')).tail },
  stats: {
    summary: 'show what was saved, by day, model and tool',
    load: async () => (await import('./cli/stats.ts')).stats,
  },
  report: {
    summary: 'show the dollars spent and saved, through the proxy or in past sessions of agents',
    load: async () => (await import('./cli/report/report.ts')).report,
  },
  prices: {
    summary: 'list the prices of models, or show the row for one model',
    load: async () => (await import('./cli/prices.ts')).prices,
  },
  projects: {
    summary: 'show and change the settings that projects have of their own',
    load: async () => (await import('./cli/projects.ts')).projects,
  },
  keys: {
    summary: 'make, list, revoke and rotate keys of a shared proxy',
    load: async () => (await import('./parts/team/keys/seat/command.ts')).keys,
  },
  erase: {
    summary: 'erase a project or a person, with a proof',
    load: async () => (await import('./cli/erase.ts')).erase,
  },
  store: { summary: 'move everything into another store', load: async () => (await import('./cli/store.ts')).store },
  eval: {
    summary: "measure the pruner on a repository's own history",
    load: async () => (await import('./parts/lab/command.ts')).evalCommand,
  },
  replay: {
    summary: 'show what pruning would have saved in recorded conversations',
    load: async () => (await import('./parts/lab/replay/command.ts')).replay,
  },
};
