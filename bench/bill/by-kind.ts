import { table } from '../../src/cli/table.ts';
import { kindsOf } from './kinds.ts';
import type { Measured } from './measure.ts';

/** What cuts of one kind of result won and lost. */
interface KindSums {
  cost: number;
  saved: number;
  lines: number;
  lost: number;
  editsLost: number;
}

/** Sums by kinds of results, and what was lost of each. */
export class ByKind {
  readonly #kinds = new Map<string, KindSums>();
  #bill = 0;
  #lines = 0;

  /** @returns a line for everything that was lost */
  add({ recording: { name, messages }, bill, needs, sent, sums }: Measured): string[] {
    const kinds = kindsOf(messages);
    const lost: string[] = [];
    this.#bill += sums.billBefore;
    this.#lines += sums.used.lines;
    for (const [i, { cost, saved }] of bill.costBy) {
      const of = this.#of(kinds[i]);
      of.cost += cost;
      of.saved += saved;
    }
    for (const line of needs.lines) {
      const from = line.from.at(-1) ?? -1;
      const of = this.#of(kinds[from]);
      of.lines++;
      if (sent.hasLine(line)) continue;
      of.lost++;
      lost.push(`${kinds[from]}\t${name} ${from}→${line.at}\t${line.text}`);
    }
    for (const blocks of needs.edits) {
      if (sent.hasEdit(blocks)) continue;
      const first = blocks[0]?.from.at(-1) ?? blocks[0]?.lines[0]?.from.at(-1) ?? -1;
      this.#of(kinds[first]).editsLost++;
      lost.push(`edit ${kinds[first]}\t${name} ${first}→${blocks[0]?.at}`);
    }
    for (const { at, from, text } of needs.written.filter((need) => !sent.hasWritten(need)))
      lost.push(`written\t${name} ${from.at(-1)}→${at}\t${text.slice(0, 80).replaceAll('\n', ' ')}`);
    for (const literal of needs.literals) {
      if (sent.hasLiteral(literal)) continue;
      const from = literal.from.at(-1) ?? -1;
      lost.push(`literal ${kinds[from]}\t${name} ${from}→${literal.at}\t${literal.text}`);
    }
    return lost;
  }

  table(): string {
    const points = (part: number, whole: number): string => ((100 * part) / Math.max(1, whole)).toFixed(2);
    const rows = [...this.#kinds]
      .toSorted(([, a], [, b]) => b.saved - a.saved)
      .map(([kind, { cost, saved, lost, lines, editsLost }]) => [
        kind,
        points(cost, this.#bill),
        points(saved, this.#bill),
        points(lost, this.#lines),
        `${lost}/${lines}`,
        String(editsLost),
      ]);
    const head = ['', 'points of the bill', 'won', 'points of lines lost', 'lines lost', 'edits lost'];
    return table([head, ...rows]);
  }

  #of(kind = ''): KindSums {
    const known = this.#kinds.get(kind) ?? { cost: 0, saved: 0, lines: 0, lost: 0, editsLost: 0 };
    this.#kinds.set(kind, known);
    return known;
  }
}
