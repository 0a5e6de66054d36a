/** A listing of states as a tool prints it, with the rows that an operator needs. */
export interface Listing {
  readonly name: string;
  readonly command: string;
  /** What the user asked. */
  readonly goal: string;
  readonly text: string;
  /** Rows, or lines of rows, that must stay. */
  readonly needed: readonly string[];
}

type Cells = readonly string[];
type Form = 'aligned' | 'narrow' | 'tabs' | 'csv' | 'markdown' | 'psql' | 'box' | 'words';

/** A whole number below `limit` that follows from a seed. */
export function pick(seed: number, limit: number): number {
  return (Math.imul(seed + 7, 2_654_435_761) >>> 9) % limit;
}

export function oneOf<T>(list: readonly T[], seed: number): T {
  return list[pick(seed, list.length)] as T;
}

const WORDS = 'cart order stock price mail audit login media tax fraud quote route badge vault relay cron'.split(' ');
const LETTERS = '0123456789bcdfghjklmnpqrstvwxz';

/** A name of a service. */
export function service(i: number): string {
  return `${oneOf(WORDS, i)}-${oneOf(WORDS, i * 3 + 1)}`;
}

/** Letters and digits, as in the name of a pod. */
export function hash(i: number, length = 5): string {
  return Array.from({ length }, (_, k) => LETTERS[pick(i * 31 + k * 7, LETTERS.length)]).join('');
}

export function hex(i: number, length = 12): string {
  return Array.from({ length }, (_, k) => '0123456789abcdef'[pick(i * 37 + k * 5, 16)]).join('');
}

/** An age as orchestrators print it. */
export function age(i: number): string {
  return oneOf(['12d', '13d', '3h12m', '47d', '5d8h', '22h', '101d', '9d'], i);
}

export interface Table {
  readonly form: Form;
  readonly head?: Cells;
  /** Number of ordinary rows, and each of them. */
  readonly fine: readonly [count: number, row: (i: number) => Cells];
  /** The rows that are needed; they are spread over the listing. */
  readonly odd: readonly Cells[];
  /** Lines before and after the table. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

/** A listing of one table. */
export function table(name: string, command: string, goal: string, about: Table): Listing {
  const { form, head, fine, odd, before = [], after = [] } = about;
  const [count, row] = fine;
  const rows: Cells[] = Array.from({ length: count }, (_, i) => row(i));
  const places = odd.map((_, k) => Math.floor(((k + 0.5 + pick(k + name.length, 40) / 100) * count) / odd.length));
  for (const [k, place] of [...places.entries()].reverse()) rows.splice(place, 0, odd[k] as Cells);
  const all = head ? [head, ...rows] : rows;
  const lines = formatted(form, all, head !== undefined);
  const needed = odd.map((cells) => lines[(head ? 1 : 0) + rulersBefore(form, head) + rows.indexOf(cells)] as string);
  return { name, command, goal, text: `${[...before, ...lines, ...after].join('\n')}\n`, needed };
}

function rulersBefore(form: Form, head: Cells | undefined): number {
  if (head === undefined) return 0;
  return form === 'box' ? 2 : form === 'markdown' || form === 'psql' ? 1 : 0;
}

function formatted(form: Form, rows: readonly Cells[], hasHead: boolean): string[] {
  const widths = (rows[0] ?? []).map((_, k) => Math.max(...rows.map((row) => (row[k] ?? '').length)));
  const padded = (row: Cells, gap: string): string =>
    row
      .map((value, k) => (k === row.length - 1 ? value : value.padEnd(widths[k] ?? 0)))
      .join(gap)
      .trimEnd();
  const cells = (row: Cells): string[] => row.map((value, k) => value.padEnd(widths[k] ?? 0));
  switch (form) {
    case 'aligned':
      return rows.map((row) => padded(row, '   '));
    case 'narrow':
      return rows.map((row) => padded(row, ' '));
    case 'tabs':
      return rows.map((row) => row.join('\t'));
    case 'csv':
      return rows.map((row) => row.map((value) => (/[, ]/.test(value) ? `"${value}"` : value)).join(','));
    case 'words':
      return rows.map((row) => row.join(' '));
    case 'markdown': {
      const lines = rows.map((row) => `| ${cells(row).join(' | ')} |`);
      if (hasHead) lines.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
      return lines;
    }
    case 'psql': {
      const lines = rows.map((row) => ` ${cells(row).join(' | ')}`.trimEnd());
      if (hasHead) lines.splice(1, 0, widths.map((width) => '-'.repeat(width + 2)).join('+'));
      return lines;
    }
    case 'box': {
      const ruler = (a: string, b: string, c: string): string =>
        `${a}${widths.map((width) => '─'.repeat(width + 2)).join(b)}${c}`;
      const lines = rows.map((row) => `│ ${cells(row).join(' │ ')} │`);
      if (hasHead) lines.splice(1, 0, ruler('├', '┼', '┤'));
      return [ruler('┌', '┬', '┐'), ...lines, ruler('└', '┴', '┘')].slice(hasHead ? 0 : 1);
    }
  }
}

/** A listing of lines; those that begin with `»` are needed, without this sign. */
export function lines(name: string, command: string, goal: string, all: readonly string[]): Listing {
  const needed = all.filter((line) => line.startsWith('»')).map((line) => line.slice(1));
  return { name, command, goal, text: `${all.map((line) => line.replace(/^»/, '')).join('\n')}\n`, needed };
}

/** Lines from a function, with some at given places. */
export function many(
  count: number,
  line: (i: number) => string,
  odd: Readonly<Record<number, string | readonly string[]>>,
): string[] {
  return Array.from({ length: count }, (_, i) => [...[odd[i] ?? []].flat(), line(i)]).flat();
}
