#!/usr/bin/env node
// The command. npm links it when a clone is installed, before dist/ is built, so it must exist from the beginning.
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write('mcp-pruner: not built yet: run npm start (or npm run build) first\n');
  process.exitCode = 1;
}
