import { groupBy } from '../../engine/group-by.ts';
import type { ShelfTool } from '../ports/shelf.ts';

const MONTH_MS = 30 * 86_400_000;

/** A tool, aggregated by name over all its declarations. */
export interface NamedTool
  extends Pick<ShelfTool, 'name' | 'kind' | 'tokens' | 'conversations' | 'calls' | 'lastCallMs' | 'shelved'> {
  /** Dollars paid so far or, for tools older than 30 days, the mean per 30 days. */
  readonly dollarsPerMonth: number;
}

/** A tool with its declarations per client and project. */
export interface DeclaredTool extends NamedTool {
  readonly declarations: readonly (NamedTool & Pick<ShelfTool, 'project' | 'client'>)[];
}

/** Groups tools by name, most expensive first. Token counts are those of the longest declaration. */
export function toolsByName(found: readonly ShelfTool[], nowMs: number): DeclaredTool[] {
  return [...groupBy(found, ({ name }) => name).values()].map((group) => toolOf(group, nowMs)).sort(dearest);
}

function toolOf(group: readonly ShelfTool[], nowMs: number): DeclaredTool {
  const declarations = group.map((one) => declarationOf(one, nowMs)).sort(dearest);
  const sum = (of: (one: NamedTool) => number): number => declarations.reduce((all, one) => all + of(one), 0);
  const calls = declarations.flatMap(({ lastCallMs }) => lastCallMs ?? []);
  const [first] = declarations;
  return {
    name: first?.name ?? '',
    kind: declarations.every(({ kind }) => kind === first?.kind) ? (first?.kind ?? 'plain') : 'plain',
    tokens: Math.max(0, ...declarations.map(({ tokens }) => tokens)),
    conversations: sum((one) => one.conversations),
    calls: sum((one) => one.calls),
    lastCallMs: calls.length === 0 ? null : Math.max(...calls),
    shelved: declarations.every(({ shelved }) => shelved),
    dollarsPerMonth: sum((one) => one.dollarsPerMonth),
    declarations,
  };
}

function declarationOf(tool: ShelfTool, nowMs: number): DeclaredTool['declarations'][number] {
  const { project, client, name, kind, tokens, conversations, calls, lastCallMs, shelved, dollars, firstMs } = tool;
  const dollarsPerMonth = dollars / Math.max(1, (nowMs - firstMs) / MONTH_MS);
  return { project, client, name, kind, tokens, conversations, calls, lastCallMs, shelved, dollarsPerMonth };
}

function dearest(a: NamedTool, b: NamedTool): number {
  return b.dollarsPerMonth - a.dollarsPerMonth || b.tokens - a.tokens;
}
