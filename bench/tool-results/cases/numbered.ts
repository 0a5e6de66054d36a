import type { ToolResultCase } from '../case.ts';

const kind = 'numbered file';

export const numbered: readonly ToolResultCase[] = [
  {
    name: 'cat-n-express-response',
    kind,
    goal: 'How does res.jsonp of express guard against script injection through line separators?',
    hints: {
      origin: 'read',
      command: 'cat -n node_modules/express/lib/response.js',
      path: 'node_modules/express/lib/response.js',
    },
    fragments: ['res.jsonp = function jsonp(obj) {', String.raw`.replace(/\u2028/g, '\\u2028')`],
    make: (shop) => shop.sh('cat -n express/lib/response.js', shop.modules),
  },
  {
    name: 'nl-python-csv',
    kind,
    goal: 'Why does csv.DictReader put surplus values under the key None? Find restkey.',
    hints: { origin: 'read', command: 'nl -ba Lib/csv.py', path: 'Lib/csv.py' },
    fragments: ['self.restkey = restkey', 'd[self.restkey] = row[lf:]'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('nl -ba "$(python3 -c "import csv; print(csv.__file__)")"');
    },
  },
  {
    name: 'arrow-numbers-zod',
    kind,
    goal: 'toJSONSchema with cycles: "throw" reports a path. Find where a cycle is detected and where the error for it is thrown.',
    hints: { origin: 'read', path: 'packages/zod/src/v4/core/to-json-schema.ts' },
    fragments: ['seen.cycle = _params.path;', 'if (ctx.cycles === "throw") {'],
    make: (shop) =>
      shop
        .packageFile('zod/src/v4/core/to-json-schema.ts')
        .split('\n')
        .map((line, i) => `${String(i + 1).padStart(6)}→${line}`)
        .join('\n'),
  },
  {
    name: 'bar-numbers-cpp',
    kind,
    goal: 'How does the native Database constructor apply the timeout option (busy timeout) when it opens the file?',
    hints: { origin: 'read', path: 'src/objects/database.cpp' },
    fragments: ['REQUIRE_ARGUMENT_INT32(sixth, int timeout);', 'sqlite3_busy_timeout(db_handle, timeout);'],
    make: (shop) =>
      shop
        .packageFile('better-sqlite3/src/objects/database.cpp')
        .split('\n')
        .map((line, i) => `${String(i + 1).padStart(4)} | ${line}`)
        .join('\n'),
  },
];
