import { groupBy } from '../../src/engine/group-by.ts';
import type { Block, Need, Needs, Sent } from './needs.ts';
import type { RealBill } from './real-bill.ts';

/** Lines of a result that an answer needed and that its request no longer had: one call of `recover_text` brings them. */
export interface Recovery {
  /** Index of the answer. */
  readonly at: number;
  /** Index of the newest result that had them. */
  readonly from: number;
  readonly chars: number;
}

/** Finds the recoveries that an answer needs first, among its lines and edits. */
export function lostAt(needs: Needs, sent: Sent): (at: number) => Recovery[] {
  const lines = groupBy(needs.lines, ({ at }) => at);
  const written = groupBy(needs.written, ({ at }) => at);
  const edits = groupBy(needs.edits, ([block]) => block?.at ?? -1);
  return (at) => {
    const lost = (lines.get(at) ?? []).filter((line) => !sent.hasLine(line));
    const edited = (edits.get(at) ?? []).filter((blocks) => !sent.hasEdit(blocks)).flat();
    const own = (written.get(at) ?? []).filter((need) => !sent.hasWritten(need));
    const needed = [...lost, ...edited.flatMap((block) => lostOf(block, sent)), ...own];
    const byResult = groupBy(needed, ({ from }) => from.at(-1) ?? -1);
    return [...byResult].map(([from, all]) => ({ at, from, chars: charsOf(all) }));
  };
}

/** All recoveries of a conversation. */
export function recoveriesOf(needs: Needs, sent: Sent): Recovery[] {
  const lost = lostAt(needs, sent);
  const answers = new Set([...needs.lines, ...needs.edits.flat(), ...needs.written].map(({ at }) => at));
  return [...answers].flatMap(lost);
}

/** What recoveries cost: each is a request of its own, and what it brings stays in the context. */
export function recoveryCost(recoveries: readonly Recovery[], { recoveryAt }: RealBill): number {
  return recoveries.reduce((sum, { at, chars }) => sum + recoveryAt(at, chars), 0);
}

function lostOf(block: Block, sent: Sent): readonly Need[] {
  if (sent.hasEdit([block])) return [];
  return block.whole ? [block] : block.lines.filter((line) => !sent.hasLine(line));
}

/** Each text once. */
function charsOf(needs: readonly Need[]): number {
  return [...new Set(needs.map(({ text }) => text))].reduce((sum, text) => sum + text.length, 0);
}
