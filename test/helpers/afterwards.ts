import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const cleanUps: (() => unknown)[] = [];

/** Does what was to be done after the test that ran. */
export async function cleanUp(): Promise<void> {
  for (const one of cleanUps.splice(0).reverse()) await one();
}

/** Runs something when the test is over, last come first. */
export function afterwards(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

/** A folder that goes with the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-test-'));
  afterwards(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
