import type { ToolResultCase } from '../case.ts';

const kind = 'listing';

export const listings: readonly ToolResultCase[] = [
  {
    name: 'find-openai-files',
    kind,
    goal: 'In which source file (TypeScript) does the openai package implement pagination?',
    hints: { origin: 'listing', command: 'find node_modules/openai -type f' },
    fragments: ['openai/src/core/pagination.ts'],
    make: (shop) => shop.sh('find openai -type f | sort', shop.modules),
  },
  {
    name: 'ls-lR-native-addon',
    kind,
    goal: 'Was the native addon better_sqlite3.node built, and how large is it?',
    hints: { origin: 'listing', command: 'ls -lR node_modules/better-sqlite3' },
    fragments: [' better_sqlite3.node', 'better-sqlite3/build/Release:'],
    make: (shop) => shop.sh('ls -lR better-sqlite3 | grep -v "^$"', shop.modules),
  },
  {
    name: 'npm-ls-tree',
    kind,
    goal: 'npm audit complains about picomatch 2. Which of our dependencies brings it in?',
    hints: { origin: 'listing', command: 'npm ls --all' },
    fragments: ['picomatch@2.', 'micromatch@4.', 'http-proxy-middleware@3.'],
    make: (shop) => {
      shop.need('npm');
      return shop.sh('npm ls --all --prefix "$MODULES/.." 2>/dev/null');
    },
  },
  {
    name: 'tar-listing',
    kind,
    goal: 'Does the published archive of undici contain the TypeScript declarations of MockAgent?',
    hints: { origin: 'listing', command: 'tar tvf undici.tgz' },
    fragments: ['undici/types/mock-agent.d.ts'],
    make: (shop) => shop.sh('tar cf - undici | tar tvf -', shop.modules),
  },
];
