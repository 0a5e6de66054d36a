import { type Paint, printable } from 'mcp-pruner/cli/command.ts';
import { wrap } from 'mcp-pruner/cli/table.ts';
import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import type { Store, StoredEvent } from 'mcp-pruner/core/ports.ts';
import { reasonInEnglish } from 'mcp-pruner/engine/text/reasons.ts';

const MAX_BLOCKS = 3;

export class Totals {
  saved = 0;

  add({ kind, payload }: StoredEvent): void {
    if (kind === 'request') this.saved += number(payload.tokens_saved);
    if (kind === 'prune_text') this.saved += number(payload.tokens_before) - number(payload.tokens_after);
  }
}

/**
 * Formats one event for people; for cuts, including the removed blocks and reasons.
 *
 * @param name - of its conversation
 */
export async function describeEvent(
  event: StoredEvent,
  name: string,
  totals: Totals,
  store: Store,
  paint: Paint,
  columns?: number,
): Promise<string> {
  const time = new Date(event.tsMs).toISOString().slice(11, 19);
  const run = plainText(name).padEnd(8);
  const kind = paint(
    colours[event.kind] ?? (event.level === 'warn' ? 'yellow' : 'dim'),
    plainText(event.kind).padEnd(14),
  );
  const line = `${paint('dim', `${time} ${run}`)} ${kind} ${factsOf(event, totals, paint)}`;
  const blocks = event.kind === 'pruned' || event.kind === 'prune_text' ? await blocksOf(event, store, paint) : [];
  return [line.trimEnd(), ...blocks].map((one) => wrap(one, columns, 4)).join('\n');
}

const colours: Readonly<Record<string, Parameters<Paint>[0]>> = {
  request: 'cyan',
  pruned: 'green',
  prune_text: 'green',
  recovered: 'magenta',
  upstream_failed: 'red',
};

function factsOf({ kind, payload }: StoredEvent, { saved }: Totals, paint: Paint): string {
  if (kind === 'request') {
    const total = `saved ${figure(payload.tokens_saved)} tokens, ${paint('bold', `${figure(saved)} in all`)}`;
    return `${plainText(payload.model)} ${figure(payload.messages)} messages, status ${figure(payload.status)}, ${total}${wholeOf(payload)}`;
  }
  if (kind === 'pruned' || kind === 'prune_text') {
    const less = `-${figure(number(payload.tokens_before) - number(payload.tokens_after))} tokens`;
    const lines = `${figure(payload.lines)} -> ${figure(payload.kept_lines)} lines`;
    return `${plainText(payload.tool ?? '')} ${lines}, ${paint('green', less)} ${paint('dim', plainText(payload.prune_id))}`.trimStart();
  }
  if (kind === 'left_whole') {
    const lines = `${figure(payload.lines)} lines`;
    return `${plainText(payload.tool ?? '')} ${lines} left whole: ${leftWholeWords(plainText(payload.reason))}`.trimStart();
  }
  return Object.entries(payload)
    .filter(([, value]) => value !== null && value !== '' && typeof value !== 'object')
    .map(([name, value]) => `${name}=${plainText(value)}`)
    .join(' ');
}

function wholeOf({ left_whole: whole }: StoredEvent['payload']): string {
  if (typeof whole !== 'object' || whole === null) return '';
  const words = Object.entries(whole).map(([code, count]) => `${count > 0 ? `${count}: ` : ''}${leftWholeWords(code)}`);
  return words.length === 0 ? '' : `; left whole: ${plainText(words.join('; '))}`;
}

/** Removed lines with their reasons, if the store still has the decision. */
async function blocksOf({ payload }: StoredEvent, store: Store, paint: Paint): Promise<string[]> {
  const prune = await store.findPrune(String(payload.prune_id));
  const cuts = prune?.decision.cuts ?? [];
  const shown = cuts
    .slice(0, MAX_BLOCKS)
    .map(({ startLine, endLine, reason }) =>
      paint('dim', `    lines ${startLine}-${endLine}: ${plainText(reasonInEnglish(reason))}`),
    );
  const more = cuts.length - shown.length;
  return more > 0 ? [...shown, paint('dim', `    and ${more} more`)] : shown;
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function figure(value: unknown): string {
  return number(value).toLocaleString('en-US');
}

function plainText(value: unknown): string {
  return printable(String(value ?? '')).replaceAll(/[\t\r\n]/g, ' ');
}
