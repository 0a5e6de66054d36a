import type { Budget } from 'mcp-pruner/core/ports/budgets.ts';
import type { Dollars } from './budgets.ts';

export function namesOf({
  keyId,
  project,
}: {
  readonly keyId?: string | undefined;
  readonly project: string;
}): string[] {
  return [nameOf('key', keyId ?? ''), nameOf('project', project)];
}

export function nameOf(of: Budget['of'], name: string): string {
  return `${of}\n${name}`;
}

export function addedUp(
  rows: readonly { readonly of: Budget['of']; readonly name: string; readonly dollars: number }[],
): Dollars {
  const added = new Map<string, number>();
  for (const { of, name, dollars } of rows) added.set(nameOf(of, name), (added.get(nameOf(of, name)) ?? 0) + dollars);
  return added;
}
