#!/usr/bin/env node
import { homedir } from 'node:os';

const [command, ...args] = process.argv.slice(2);
// agents run this after each message, so it loads nothing else
const isLine = command === 'statusline' && !args.some((arg) => arg === '--help' || arg === '-h');

if (isLine) {
  const { parseArgs } = await import('node:util');
  const { printLine } = await import('@mcp-pruner/limits/statusline/main.ts');
  const word = { type: 'string' } as const;
  const yes = { type: 'boolean' } as const;
  const options = { parts: word, session: word, url: word, 'token-file': word, latest: yes, searchable: yes } as const;
  const { values } = parseArgs({ args, options, strict: false, allowPositionals: true });
  const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
  await printLine(
    {
      parts: text(values.parts),
      session: text(values.session),
      latest: values.latest === true,
      searchable: values.searchable === true,
      url: text(values.url),
      'token-file': text(values['token-file']),
    },
    {
      env: process.env,
      platform: process.platform,
      homeDir: homedir(),
      cwd: process.cwd(),
      out: (line) => process.stdout.write(line),
      err: (line) => process.stderr.write(line),
      nowMs: Date.now,
    },
  );
} else {
  const { runProgram } = await import('./program.ts');
  await runProgram(new URL('../package.json', import.meta.url));
}
