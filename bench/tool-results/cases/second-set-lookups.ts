import type { ToolResultCase } from '../case.ts';

/** A service's log of 640 requests in two files, one request refused; `grep -n` finds all of them. */
const ORDER_LOGS = `mkdir -p logs; for f in 1 2; do for i in $(seq 1 320); do
  if [ $f = 2 ] && [ $i = 207 ]; then echo "2026-03-0$f 10:$((i / 60 + 10)):$((i % 60 + 10)) ERROR orders card of customer 8812 refused by acquirer, code 51";
  else echo "2026-03-0$f 10:$((i / 60 + 10)):$((i % 60 + 10)) INFO orders request $((i * 7)) served in $((i % 23)) ms"; fi
done > logs/orders-$f.log; done`;

/** Listings of folders, and searches in logs: what an agent looks up before it reads. */
export const secondSetLookups: readonly ToolResultCase[] = [
  {
    name: 'b-ls-R-openai',
    kind: 'listing',
    goal: 'Which source files does openai have for threads of assistants?',
    hints: { origin: 'listing', command: 'ls -R node_modules/openai' },
    fragments: ['openai/src/resources/beta/threads:', 'threads.ts', 'assistants.ts'],
    make: (shop) => shop.sh('ls -R openai', shop.modules),
  },
  {
    name: 'b-ls-lR-zod',
    kind: 'listing',
    goal: 'How large is the Japanese locale file of zod v4?',
    hints: { origin: 'listing', command: 'ls -lR node_modules/zod/v4' },
    fragments: [' ja.js', 'zod/v4/locales:'],
    make: (shop) => shop.sh('ls -lR zod/v4', shop.modules),
  },
  {
    name: 'b-git-ls-files',
    kind: 'listing',
    goal: 'Where are the tests of the websocket frames?',
    hints: { origin: 'command', command: 'git ls-files' },
    fragments: ['test/websocket-frames.js'],
    make: (shop) => {
      const names = Array.from(
        { length: 260 },
        (_, i) => `src/part-${i % 13}/errors-${i}.js test/part-${i % 13}-${i}.js`,
      );
      const folder = shop.folder({ 'test/websocket-frames.js': '' });
      return shop.sh(
        `mkdir -p src/part-{0..12}; touch ${names.join(' ')}; git init -q . && git add -A && git ls-files`,
        folder,
      );
    },
  },
  {
    name: 'b-grep-n-log',
    kind: 'grep',
    goal: 'Did any order fail?',
    hints: { origin: 'search', command: 'grep -n orders logs/orders-2.log' },
    fragments: ['207:', 'card of customer 8812 refused by acquirer'],
    make: (shop) => shop.sh(`${ORDER_LOGS}; grep -n orders logs/orders-2.log`, shop.folder()),
  },
  {
    name: 'b-grep-rn-logs',
    kind: 'grep',
    goal: 'Which orders were refused, and in which file is that logged?',
    hints: { origin: 'search', command: 'grep -rn orders logs' },
    fragments: ['logs/orders-2.log:207:', 'code 51'],
    make: (shop) => shop.sh(`${ORDER_LOGS}; grep -rn orders logs | sort`, shop.folder()),
  },
  {
    name: 'b-npm-ls-name-of-parts',
    kind: 'listing',
    goal: 'Is file-uri-to-path among the installed packages?',
    hints: { origin: 'listing', command: 'ls -R node_modules' },
    fragments: ['file-uri-to-path'],
    make: (shop) => shop.sh('find . -maxdepth 2 -name "*" | sort | head -1200', shop.modules),
  },
  {
    name: 'b-log-of-one-kind',
    kind: 'service log',
    goal: 'cat logs/node.log\nWhat happened before the requests became slow?',
    hints: { origin: 'command', command: 'cat logs/node.log' },
    fragments: ['follows node-3 now'],
    make: (shop) =>
      shop.sh(
        `for i in $(seq 1 400); do if [ $i = 233 ]; then echo "2026-03-01T10:00:$((i % 50 + 10)) info this node follows node-3 now"; else echo "2026-03-01T10:00:$((i % 50 + 10)) info request $i took $((i % 31)) ms"; fi; done`,
      ),
  },
  {
    name: 'b-command-words',
    kind: 'service log',
    goal: 'grep -c refused logs/orders-1.log; cat logs/orders-2.log | head -400\nWhich customer was refused?',
    hints: { origin: 'read', command: 'grep -c refused logs/orders-1.log; cat logs/orders-2.log | head -400' },
    fragments: ['card of customer 8812 refused'],
    make: (shop) => shop.sh(`${ORDER_LOGS}; cat logs/orders-2.log | head -400`, shop.folder()),
  },
];
