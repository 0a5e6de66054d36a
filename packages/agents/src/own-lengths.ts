import { existsSync, readFileSync } from 'node:fs';
import { setOwnLengths } from '@mcp-pruner/money/client-lengths.ts';
import { ownLengths } from './clients/compact-at.ts';

/** Has the lengths at which clients compact read from the settings of the user who runs the process. */
export function readsOwnLengths(env: Readonly<Record<string, string | undefined>>, homeDir = env.HOME ?? ''): void {
  if (homeDir === '') return;
  const readFile = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null);
  setOwnLengths(() => ownLengths({ env, homeDir, readFile }));
}
