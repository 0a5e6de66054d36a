import { clock, compact } from '@mcp-pruner/ui/format.tsx';
import type { TimelineShown, TurnShown } from '../../shapes.ts';
import { writtenIn } from './turn-table.tsx';

const HEIGHT = 190;
const TOP = 22;
export const LEFT = 46;
const MIN_COLUMN = 4;
const MAX_COLUMN = 96;
/** The threshold is drawn if it is below this multiple of the longest request. */
const NEAR = 2;

/** Parts of a column, from bottom to top. Colours are CSS custom properties. */
export const PARTS = [
  { name: 'read from the cache', colour: 'var(--plot-read)', of: ({ read }: TurnShown) => read },
  { name: 'cache missed', colour: 'var(--plot-bad)', of: (turn: TurnShown) => missedIn(turn) },
  {
    name: 'new, written to the cache',
    colour: 'var(--plot-write)',
    of: (turn: TurnShown) => Math.max(0, writtenIn(turn) - Math.max(0, missedIn(turn) - turn.fresh)),
  },
  {
    name: 'new',
    colour: 'var(--plot-new)',
    of: (turn: TurnShown) => Math.max(0, turn.fresh - Math.min(turn.fresh, missedIn(turn))),
  },
  { name: 'cut', colour: 'url(#hatch)', of: ({ removed }: TurnShown) => Math.max(0, removed) },
] as const;
export const inputOf = (turn: TurnShown): number => turn.fresh + writtenIn(turn) + turn.read;
export const wholeOf = (turn: TurnShown): number => inputOf(turn) + Math.max(0, turn.removed);
const missedIn = (turn: TurnShown): number => Math.min(turn.fresh + writtenIn(turn), Math.max(0, turn.missTokens));

/** A column for one request, or for adjacent ones if space is limited; `at` is the largest of them. */
interface Column {
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

export function chartWidth(turns: number, width: number): number {
  return Math.min(Math.max(0, width - LEFT), turns * MAX_COLUMN);
}

function columnsOf(turns: readonly TurnShown[], width: number): readonly Column[] {
  const each = Math.max(1, Math.ceil(turns.length / Math.max(1, Math.floor((width - LEFT) / MIN_COLUMN))));
  return Array.from({ length: Math.ceil(turns.length / each) }, (_, i) => {
    const from = i * each;
    const to = Math.min(turns.length, from + each) - 1;
    let at = from;
    for (let k = from; k <= to; k++) {
      const [one, best] = [turns[k], turns[at]];
      if (one && best && wholeOf(one) > wholeOf(best)) at = k;
    }
    return { from, to, at };
  });
}

export function Columns({
  turns,
  compactions,
  recoveries,
  threshold,
  width,
  selected,
  onSelect,
}: Pick<TimelineShown, 'turns' | 'compactions' | 'recoveries' | 'threshold'> & {
  width: number;
  selected: number;
  onSelect: (index: number) => void;
}) {
  const columns = columnsOf(turns, width);
  const step = Math.min(MAX_COLUMN, (width - LEFT) / columns.length);
  const longest = Math.max(1, ...turns.map(wholeOf));
  const isNear = threshold !== null && threshold.tokens < longest * NEAR;
  const top = isNear ? Math.max(longest, threshold.tokens) : longest;
  const y = (tokens: number): number => HEIGHT - (tokens / top) * (HEIGHT - TOP);
  const columnAt = (atMs: number): number => {
    const index = turns.findIndex((turn) => turn.atMs >= atMs);
    const turnIndex = index < 0 ? turns.length - 1 : index;
    return columns.findIndex(({ from, to }) => turnIndex >= from && turnIndex <= to);
  };
  const select = (event: MouseEvent): void => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    const column = columns[Math.floor((event.clientX - left - LEFT) / step)];
    if (column) onSelect(column.at);
  };
  return (
    <svg width={width} height={HEIGHT + 18} aria-hidden="true" onClick={select}>
      <Ground top={top} width={width} y={y} />
      {columns.map(({ from, to, at }, i) => (
        <Bar
          key={from}
          turn={turns[at]}
          x={LEFT + i * step}
          width={step}
          y={y}
          isSelected={selected >= from && selected <= to}
          hasRegret={turns.slice(from, to + 1).some(({ regretTokens }) => regretTokens > 0)}
        />
      ))}
      {isNear && <line x1={LEFT} x2={width} y1={y(threshold.tokens)} y2={y(threshold.tokens)} class="threshold" />}
      {recoveries.map(({ atMs, pruneId }) => {
        const x = LEFT + (columnAt(atMs) + 0.5) * step;
        return <path key={`${atMs}${pruneId}`} d={`M${x - 4} ${HEIGHT + 10}h8l-4-7z`} class="recovery" />;
      })}
      {compactions.map(({ atMs, ends }) => {
        const x = LEFT + (ends ? Math.min(columns.length, columnAt(atMs) + 1) : 0) * step;
        return <line key={atMs} x1={x} x2={x} y1={2} y2={HEIGHT + 12} class="compaction" />;
      })}
      <Times turns={turns} width={columns.length * step} />
    </svg>
  );
}

/** The times of the first and the last request. @param width - total width of the columns */
function Times({ turns, width }: { turns: readonly TurnShown[]; width: number }) {
  return (
    <>
      <text x={LEFT} y={HEIGHT + 15}>
        {clock(turns[0]?.atMs ?? 0)}
      </text>
      <text x={LEFT + width} y={HEIGHT + 15} text-anchor={width < 140 ? 'start' : 'end'}>
        {turns.length > 1 ? clock(turns.at(-1)?.atMs ?? 0) : ''}
      </text>
    </>
  );
}

function Ground({ top, width, y }: { top: number; width: number; y: (tokens: number) => number }) {
  return (
    <>
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" fill="var(--surface)" />
          <rect width="2.5" height="6" fill="var(--plot-cut)" />
        </pattern>
      </defs>
      {[0, top / 2, top].map((tokens) => (
        <g key={tokens}>
          <line x1={LEFT} x2={width} y1={y(tokens)} y2={y(tokens)} class="grid" />
          <text x={LEFT - 6} y={y(tokens) + 4} text-anchor="end">
            {compact(Math.round(tokens))}
          </text>
        </g>
      ))}
    </>
  );
}

/** The parts of a request, on top of each other. @param y - maps a number of tokens to a position */
function Bar({
  turn,
  x,
  width,
  y,
  isSelected,
  hasRegret,
}: {
  turn: TurnShown | undefined;
  x: number;
  width: number;
  y: (tokens: number) => number;
  isSelected: boolean;
  hasRegret: boolean;
}) {
  if (!turn) return null;
  let base = 0;
  return (
    <g class={isSelected ? 'column selected' : 'column'}>
      <rect x={x} y={0} width={width} height={HEIGHT} class="column-ground" />
      {PARTS.map(({ name, colour, of }) => {
        const tokens = of(turn);
        base += tokens;
        const height = y(base - tokens) - y(base);
        return height < 0.4 ? null : (
          <rect key={name} x={x + width * 0.12} y={y(base)} width={width * 0.76} height={height} fill={colour} />
        );
      })}
      {hasRegret && <circle cx={x + width / 2} cy={y(base) - 7} r={3.5} class="regret" />}
    </g>
  );
}
