import type { ToolResultCase } from '../case.ts';

const kind = 'json';

export const json: readonly ToolResultCase[] = [
  {
    name: 'package-lock',
    kind,
    goal: 'Which version of undici is locked in package-lock.json, and which Node does that version need?',
    hints: { origin: 'read', path: 'package-lock.json' },
    fragments: ['"node_modules/undici": {\n"version": "7.', '"node": ">=20.18'],
    make: (shop) => shop.sh('cat "$MODULES/../package-lock.json"'),
  },
  {
    name: 'package-records',
    kind,
    goal: 'Under which licence may we ship lightningcss?',
    hints: { origin: 'command', command: 'node scripts/licences.mjs' },
    fragments: ['"name": "lightningcss",\n"version":\n"license": "MPL-2.0"'],
    make: (shop) => shop.sh(`node -e '${RECORDS}; console.log(JSON.stringify(records, null, 2))'`, shop.modules),
  },
  {
    name: 'mime-db',
    kind,
    goal: 'Which file extension has application/wasm, and is it compressible?',
    hints: { origin: 'read', path: 'node_modules/mime-db/db.json' },
    fragments: ['"application/wasm": {\n"source":\n"compressible": true\n"extensions": ["wasm"]'],
    make: (shop) => shop.packageFile('mime-db/db.json'),
  },
  {
    name: 'npm-ls-json',
    kind,
    goal: 'Which version of rolldown does vite resolve to?',
    hints: { origin: 'command', command: 'npm ls --all --json' },
    fragments: ['"vite": {', '"rolldown": {\n"version":'],
    make: (shop) => {
      shop.need('npm');
      return shop.sh('npm ls --all --json --prefix "$MODULES/.." 2>/dev/null');
    },
  },
];

/** A program that collects a few facts of every installed package. */
export const RECORDS = [
  'const fs = require("fs"), path = require("path"), records = []',
  'const add = (dir) => { const file = path.join(dir, "package.json"); if (!fs.existsSync(file)) return; const p = JSON.parse(fs.readFileSync(file, "utf8")); if (p.name) records.push({ name: p.name, version: p.version, license: p.license, engines: p.engines && p.engines.node, dependencies: Object.keys(p.dependencies || {}).length, bytes: fs.statSync(file).size }) }',
  'for (const name of fs.readdirSync(".").sort()) { if (name.startsWith(".")) continue; if (name.startsWith("@")) for (const sub of fs.readdirSync(name).sort()) add(path.join(name, sub)); else add(name) }',
].join('; ');
