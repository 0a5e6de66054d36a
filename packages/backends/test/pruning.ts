import type { TestProxy } from '../../../test/helpers/proxy.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { PRUNE_OPTIONS } from '../../../test/helpers/prune-options.ts';
import { type FakeService, KEY } from './services.ts';

/** An upstream that no test of this folder calls. */
export const NOWHERE = 'http://127.0.0.1:9/v1';

/** What `prune_text` answers. */
export interface Pruned {
  readonly prune_id: string;
  readonly pruned_text: string;
  readonly annotations: readonly { original_start_line: number; original_end_line: number; marker: string }[];
  readonly stats: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

export interface PruneOptions {
  readonly max_prune_ratio?: number;
  readonly min_keep_lines?: number;
  readonly timeout_ms?: number;
}

/** Calls `prune_text`. */
export async function pruneText(
  proxy: TestProxy,
  text: string,
  goal: string,
  options: PruneOptions = {},
  sourceType = 'docs',
): Promise<Pruned> {
  const { result, error } = await proxy.call('prune_text', {
    text,
    goal_hint: goal,
    source_type: sourceType,
    options: { ...PRUNE_OPTIONS, ...options },
  });
  if (!result) throw new Error(JSON.stringify(error));
  return JSON.parse(result.content[0]?.text ?? '') as Pruned;
}

/** Settings that switch the cloud backend on. */
export function deepinfraEnv(service: FakeService | string, more: Readonly<Record<string, string>> = {}) {
  return {
    KIMI_PRUNING_BACKEND: 'deepinfra',
    DEEPINFRA_API_KEY: KEY,
    DEEPINFRA_ENDPOINT_URL: typeof service === 'string' ? service : service.url,
    ...more,
  };
}

/** The product with the cloud backend on. */
export function startWithDeepinfra(service: FakeService | string, more: Readonly<Record<string, string>> = {}) {
  return startProxy(NOWHERE, { env: deepinfraEnv(service, more) });
}

/** Lines of prose that have nothing in common with any goal; `topics` stand at their line numbers (from 1). */
export function prose(lines: number, topics: Readonly<Record<number, string>> = {}): string {
  const words = [
    'harbour',
    'meadow',
    'lantern',
    'copper',
    'violin',
    'granite',
    'orchard',
    'saddle',
    'window',
    'thunder',
  ];
  const out: string[] = [];
  for (let i = 1; i <= lines; i++) {
    const at = (k: number): string => words[(i * k + k) % words.length] ?? '';
    out.push(
      topics[i] ?? `Entry ${i} tells of the ${at(3)} near the ${at(7)}, of a ${at(9)} and of one more ${at(1)}.`,
    );
  }
  return `${out.join('\n')}\n`;
}

/** The line numbers that a result leaves out. */
export function cutLines({ annotations }: Pick<Pruned, 'annotations'>): Set<number> {
  const cut = new Set<number>();
  for (const { original_start_line, original_end_line } of annotations) {
    for (let line = original_start_line; line <= original_end_line; line++) cut.add(line);
  }
  return cut;
}
