import type { ToolResultCase } from '../case.ts';
import type { Workshop } from '../workshop.ts';

const kind = 'diff';

const COMMIT = 'git -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false commit -q';

/** A copy of an installed package under git. */
function repository(shop: Workshop, packagePath: string): string {
  shop.need('git');
  const folder = shop.folder();
  shop.sh(`cp -r "$MODULES/${packagePath}" src && git init -q && git add -A && ${COMMIT} -m start`, folder);
  return folder;
}

export const diffs: readonly ToolResultCase[] = [
  {
    name: 'git-diff-rename-and-bug',
    kind,
    goal: 'Since this branch Content-Length is wrong for non-ASCII strings. Which hunk of the diff changes how the length of a body is computed?',
    hints: { origin: 'command', command: 'git diff main' },
    fragments: [
      '-      len = Buffer.byteLength(chunk, encoding)',
      '+      len = chunk.length',
      'diff --git a/src/response.js b/src/response.js',
    ],
    make: (shop) => {
      const folder = repository(shop, 'express/lib');
      const rename = String.raw`sed -i 's/\bopts\b/settings/g; s/\bnext\b/proceed/g; s/\bpath\b/route/g' src/*.js`;
      return shop.sh(
        `${rename}; sed -i 's/len = Buffer.byteLength(chunk, encoding)/len = chunk.length/' src/response.js; git diff`,
        folder,
      );
    },
  },
  {
    name: 'git-log-patch',
    kind,
    goal: 'When was the retry limit lowered, by which commit, and from what to what?',
    hints: { origin: 'command', command: 'git log -p' },
    fragments: ['Be gentle to the gateway', '-const retryLimit = 5;', '+const retryLimit = 2;'],
    make: (shop) => {
      const folder = repository(shop, 'express/lib');
      const files = ['application', 'express', 'request', 'response', 'utils', 'view'];
      for (let i = 0; i < 14; i++) {
        const file = `src/${files[i % files.length]}.js`;
        if (i === 2)
          shop.sh(
            `echo 'const retryLimit = 5;' >> src/gateway.js; git add -A; ${COMMIT} -m 'Add the gateway client'`,
            folder,
          );
        else if (i === 9)
          shop.sh(
            `sed -i 's/retryLimit = 5/retryLimit = 2/' src/gateway.js; ${COMMIT} -a -m 'Be gentle to the gateway'`,
            folder,
          );
        else
          shop.sh(
            `sed -i '${20 + i * 9},${40 + i * 9}s/var /let /; ${20 + i * 9},${40 + i * 9}s/ = /  =  /' ${file}; ${COMMIT} -a -m 'Tidy ${file}, part ${i}'`,
            folder,
          );
      }
      return shop.sh('git log -p', folder);
    },
  },
  {
    name: 'diff-ru-two-versions',
    kind,
    goal: 'Comparing picomatch 2 with 4: how do they find out now whether they run on Windows?',
    hints: { origin: 'command', command: 'diff -ru picomatch-2/lib picomatch-4/lib' },
    fragments: [
      '-exports.isWindows = options => {',
      '+exports.isWindows = () => {',
      "+  if (typeof navigator !== 'undefined' && navigator.platform) {",
    ],
    make: (shop) => shop.sh('diff -ru micromatch/node_modules/picomatch/lib picomatch/lib', shop.modules),
  },
];
