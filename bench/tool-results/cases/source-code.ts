import type { ToolResultCase } from '../case.ts';
import { Unavailable } from '../workshop.ts';

const kind = 'source code';

export const sourceCode: readonly ToolResultCase[] = [
  {
    name: 'js-express-response',
    kind,
    goal: 'res.sendFile throws "path must be absolute" for a relative path although root is set in my wrapper. Let me read lib/response.js to see when sendFile rejects the path.',
    hints: { origin: 'read', path: 'node_modules/express/lib/response.js' },
    fragments: [
      'res.sendFile = function sendFile(path, options, callback) {',
      'if (!opts.root && !pathIsAbsolute(path)) {',
      "throw new TypeError('path must be absolute or specify root to res.sendFile');",
    ],
    make: (shop) => shop.packageFile('express/lib/response.js'),
  },
  {
    name: 'python-csv-sniffer',
    kind,
    goal: 'csv.Sniffer().has_header() says False for our file. How does it vote on whether the first row is a header, and how many rows does it check?',
    hints: { origin: 'read', path: 'Lib/csv.py' },
    fragments: ['def has_header(self, sample):', 'if checked > 20:', 'colType(header[col])', 'return hasHeader > 0'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('cat "$(python3 -c "import csv; print(csv.__file__)")"');
    },
  },
  {
    name: 'python-http-cookiejar',
    kind,
    goal: 'Our test cookie with a Max-Age of 0 should be removed at once. Where does http.cookiejar turn max-age into an expiry time?',
    hints: { origin: 'read', path: 'Lib/http/cookiejar.py' },
    fragments: ['if k == "max-age":', 'v = self._now + v'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('cat "$(python3 -c "import http.cookiejar as c; print(c.__file__)")"');
    },
  },
  {
    name: 'ts-zod-to-json-schema',
    kind,
    goal: 'toJSONSchema with cycles: "throw" reports a path. Find where a cycle is detected and where the error for it is thrown.',
    hints: { origin: 'read', path: 'packages/zod/src/v4/core/to-json-schema.ts' },
    fragments: ['seen.cycle = _params.path;', 'if (ctx.cycles === "throw") {', 'Set the `cycles` parameter to `"ref"`'],
    make: (shop) => shop.packageFile('zod/src/v4/core/to-json-schema.ts'),
  },
  {
    name: 'ts-declarations-worker-threads',
    kind,
    goal: 'Which option of the Worker constructor limits the old generation heap of a worker thread?',
    hints: { origin: 'read', path: 'node_modules/@types/node/worker_threads.d.ts' },
    fragments: ['resourceLimits?: ResourceLimits | undefined;', 'maxOldGenerationSizeMb?: number | undefined;'],
    make: (shop) => shop.packageFile('@types/node/worker_threads.d.ts'),
  },
  {
    name: 'cpp-better-sqlite3-database',
    kind,
    goal: 'How does the native Database constructor apply the timeout option (busy timeout) when it opens the file?',
    hints: { origin: 'read', path: 'src/objects/database.cpp' },
    fragments: ['REQUIRE_ARGUMENT_INT32(sixth, int timeout);', 'sqlite3_busy_timeout(db_handle, timeout);'],
    make: (shop) => shop.packageFile('better-sqlite3/src/objects/database.cpp'),
  },
  {
    name: 'java-hashmap',
    kind,
    goal: 'At what bucket size does java.util.HashMap turn a bin into a red-black tree, and what happens instead while the table is still small?',
    hints: { origin: 'read', path: 'java/util/HashMap.java' },
    fragments: [
      'static final int TREEIFY_THRESHOLD = 8;',
      'static final int MIN_TREEIFY_CAPACITY = 64;',
      'if (tab == null || (n = tab.length) < MIN_TREEIFY_CAPACITY)',
    ],
    make: (shop) => {
      shop.need('python3');
      const zip = shop.sh('find -L /usr/lib/jvm /opt -name src.zip -size +1M 2>/dev/null | head -1').trim();
      if (zip === '') throw new Unavailable('no src.zip of a JDK');
      const open = `import zipfile; print(zipfile.ZipFile('${zip}').read('java.base/java/util/HashMap.java').decode(), end='')`;
      return shop.sh(`python3 -c "${open}"`);
    },
  },
  {
    name: 'shell-git-filter-branch',
    kind,
    goal: 'git filter-branch prints "Cannot rewrite branches: You have unstaged changes." Where does the script decide that?',
    hints: { origin: 'read', path: 'git-filter-branch.sh' },
    fragments: ["require_clean_work_tree 'rewrite branches'"],
    make: (shop) => shop.sh('cat "$(git --exec-path)/git-filter-branch"'),
  },
];
