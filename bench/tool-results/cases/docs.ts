import type { ToolResultCase } from '../case.ts';

const kind = 'docs';

export const docs: readonly ToolResultCase[] = [
  {
    name: 'markdown-pino-api',
    kind,
    goal: 'With pino I want the redacted key to disappear from the log line instead of showing [Redacted]. What does the documentation of the redact option say about censor?',
    hints: { origin: 'read', path: 'node_modules/pino/docs/api.md' },
    fragments: [
      '#### `redact` (Array | Object):',
      'When set to `undefined` the key will be removed entirely from the object.',
    ],
    make: (shop) => shop.packageFile('pino/docs/api.md'),
  },
  {
    name: 'markdown-undici-dispatcher',
    kind,
    goal: 'What does the blocking option of dispatch() mean in undici, and what is its default?',
    hints: { origin: 'read', path: 'node_modules/undici/docs/docs/api/Dispatcher.md' },
    fragments: [
      "* **blocking** `boolean` (optional) - Default: `method !== 'HEAD'`",
      '#### Parameter: `DispatchOptions`',
    ],
    make: (shop) => shop.packageFile('undici/docs/docs/api/Dispatcher.md'),
  },
  {
    name: 'man-git-rebase',
    kind,
    goal: 'Does git rebase have an option that moves other branches along, which point to the commits being rebased?',
    hints: { origin: 'command', command: 'man git-rebase' },
    fragments: [
      '--update-refs, --no-update-refs',
      'Automatically force-update any branches that point to commits that',
    ],
    make: (shop) => {
      shop.need('man', 'col');
      return shop.sh('MANWIDTH=80 man -P cat git-rebase | col -bx');
    },
  },
  {
    name: 'changelog-openai',
    kind,
    goal: 'In which release did the openai client start to send a retry count header?',
    hints: { origin: 'read', path: 'node_modules/openai/CHANGELOG.md' },
    fragments: ['* **client:** send retry count header'],
    make: (shop) => shop.packageFile('openai/CHANGELOG.md'),
  },
  {
    name: 'pydoc-argparse',
    kind,
    goal: 'What does exit_on_error of argparse.ArgumentParser do?',
    hints: { origin: 'command', command: 'python3 -m pydoc argparse' },
    fragments: ['exit_on_error -- Determines whether or not ArgumentParser exits with'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('python3 -m pydoc argparse | cat');
    },
  },
];
