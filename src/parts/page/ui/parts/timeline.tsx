import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { clock, compact, dollars, number, plural } from '../../../../app/page/ui/format.tsx';
import { Badge, Card, Time } from '../../../../app/page/ui/parts/pieces.tsx';
import type { TimelineShown, TurnShown } from '../../shapes.ts';
import { to } from '../route.tsx';
import { AsTable, missWords, writtenIn } from './turn-table.tsx';

const HEIGHT = 190;
const TOP = 22;
const LEFT = 46;
const MIN_COLUMN = 4;
const MAX_COLUMN = 96;
/** The threshold is drawn while it is less than this multiple of the longest request. */
const NEAR = 2;

/** The parts of a column, from bottom to top. Colours are custom properties of the style sheet. */
const PARTS = [
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
const inputOf = (turn: TurnShown): number => turn.fresh + writtenIn(turn) + turn.read;
const wholeOf = (turn: TurnShown): number => inputOf(turn) + Math.max(0, turn.removed);
const missedIn = (turn: TurnShown): number => Math.min(turn.fresh + writtenIn(turn), Math.max(0, turn.missTokens));

/** A column for one request, or for neighbours if there is no room; `at` is the largest of them. */
interface Column {
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

/** The size of each request of a conversation, by where its tokens came from, with the cut part hatched. */
export function Timeline({
  timeline: { turns, earlier, compactions, recoveries, threshold },
  selected,
  onSelect,
  children,
}: {
  timeline: TimelineShown;
  selected: number;
  onSelect: (index: number) => void;
  children: preact.ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measured = (): void => setWidth(box.current?.clientWidth ?? 0);
    measured();
    const sized = new ResizeObserver(measured);
    if (box.current) sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  const turn = turns[selected];
  if (!turn) return null;
  return (
    <Card
      title="Context by request"
      side={
        <ul class="legend">
          {PARTS.map(({ name, colour }) => (
            <li key={name}>
              {colour.startsWith('url') ? (
                <i aria-hidden="true" class="hatched" />
              ) : (
                <i style={{ background: colour }} />
              )}
              {name}
            </li>
          ))}
        </ul>
      }
    >
      {earlier && <p class="quiet small">The newest {number(turns.length)} requests.</p>}
      <div class="timeline" ref={box}>
        {width > 0 && (
          <Columns
            turns={turns}
            compactions={compactions}
            recoveries={recoveries}
            threshold={threshold}
            width={width}
            selected={selected}
            onSelect={onSelect}
          />
        )}
      </div>
      <input
        type="range"
        class="timeline-range"
        style={{ marginLeft: `${LEFT}px`, width: `${chartWidth(turns.length, width)}px` }}
        min={0}
        max={turns.length - 1}
        value={selected}
        aria-label="Request"
        aria-valuetext={`Request ${selected + 1}: ${compact(inputOf(turn))} tokens sent, ${compact(turn.removed)} cut`}
        onInput={(event) => onSelect(Number(event.currentTarget.value))}
      />
      <Detail turn={turn} index={selected} of={turns.length}>
        {children}
      </Detail>
      <ConversationEvents turns={turns} compactions={compactions} recoveries={recoveries} threshold={threshold} />
      <AsTable turns={turns} />
    </Card>
  );
}

/** Width of all columns together. */
function chartWidth(turns: number, width: number): number {
  return Math.min(Math.max(0, width - LEFT), turns * MAX_COLUMN);
}

/** Neighbouring requests put together until all columns have room. */
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

function Columns({
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
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" fill="var(--surface)" />
          <rect width="2.5" height="6" fill="var(--plot-cut)" />
        </pattern>
      </defs>
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line x1={LEFT} x2={width} y1={y(top * part)} y2={y(top * part)} class="grid" />
          <text x={LEFT - 6} y={y(top * part) + 4} text-anchor="end">
            {compact(Math.round(top * part))}
          </text>
        </g>
      ))}
      {columns.map(({ from, to, at }, i) => {
        const turn = turns[at];
        if (!turn) return null;
        const x = LEFT + i * step;
        let base = 0;
        const isSelected = selected >= from && selected <= to;
        return (
          <g key={from} class={isSelected ? 'column selected' : 'column'}>
            <rect x={x} y={0} width={step} height={HEIGHT} class="column-ground" />
            {PARTS.map(({ name, colour, of }) => {
              const tokens = of(turn);
              base += tokens;
              const height = y(base - tokens) - y(base);
              return height < 0.4 ? null : (
                <rect key={name} x={x + step * 0.12} y={y(base)} width={step * 0.76} height={height} fill={colour} />
              );
            })}
            {turns.slice(from, to + 1).some(({ regretTokens }) => regretTokens > 0) && (
              <circle cx={x + step / 2} cy={y(base) - 7} r={3.5} class="regret" />
            )}
          </g>
        );
      })}
      {isNear && <line x1={LEFT} x2={width} y1={y(threshold.tokens)} y2={y(threshold.tokens)} class="threshold" />}
      {recoveries.map(({ atMs, pruneId }) => {
        const x = LEFT + (columnAt(atMs) + 0.5) * step;
        return <path key={`${atMs}${pruneId}`} d={`M${x - 4} ${HEIGHT + 10}h8l-4-7z`} class="recovery" />;
      })}
      {compactions.map(({ atMs, ends }) => {
        const x = LEFT + (ends ? Math.min(columns.length, columnAt(atMs) + 1) : 0) * step;
        return <line key={atMs} x1={x} x2={x} y1={2} y2={HEIGHT + 12} class="compaction" />;
      })}
      <text x={LEFT} y={HEIGHT + 15}>
        {clock(turns[0]?.atMs ?? 0)}
      </text>
      <text
        x={LEFT + columns.length * step}
        y={HEIGHT + 15}
        text-anchor={columns.length * step < 140 ? 'start' : 'end'}
      >
        {turns.length > 1 ? clock(turns.at(-1)?.atMs ?? 0) : ''}
      </text>
    </svg>
  );
}

function Detail({
  turn,
  index,
  of,
  children,
}: {
  turn: TurnShown;
  index: number;
  of: number;
  children: preact.ComponentChildren;
}) {
  const { atMs, model, read, removed, removedNew, dollars: cost, dollarsWithout, miss, missTokens, missAt } = turn;
  return (
    <div class="timeline-detail">
      <p>
        <b>
          Request {number(index + 1)} of {number(of)}
        </b>{' '}
        <span class="quiet">
          <Time ms={atMs}>{clock(atMs)}</Time> · {model}
        </span>
        <br />
        {compact(inputOf(turn))} tokens sent, {compact(read)} of them from the cache.{' '}
        {removed > 0 ? `${compact(removed)} cut, ${compact(removedNew)} of them new.` : 'Nothing cut.'}{' '}
        {cost !== null && `${dollars(cost)}`}
        {cost !== null && dollarsWithout !== null && ` instead of ${dollars(dollarsWithout)}`}
        {cost !== null && '.'}{' '}
        {miss !== null && (
          <Badge tone={miss === 'first_request' ? '' : 'warn'}>{missWords(miss, missTokens, missAt)}</Badge>
        )}{' '}
        {turn.regretTokens > 0 && <Badge tone="bad">{compact(turn.regretTokens)} tokens were needed after all</Badge>}
      </p>
      {children}
    </div>
  );
}

/** The threshold, compactions, recoveries and regrets in words, with the way to the other conversation. */
function ConversationEvents({
  turns,
  compactions,
  recoveries,
  threshold,
}: Pick<TimelineShown, 'turns' | 'compactions' | 'recoveries' | 'threshold'>) {
  const regrets = turns.filter(({ regretTokens }) => regretTokens > 0).length;
  return (
    <ul class="happened small">
      {threshold && (
        <li>
          <i class="mark threshold" aria-hidden="true" />
          {threshold.learned
            ? `Its client compacts at ${compact(threshold.tokens)} tokens, the median of its compactions`
            : `Its client compacts at ${compact(threshold.tokens)} tokens with this model, as far as is known (config/clients.toml)`}
          {isAvoided(turns, threshold.tokens) && '. Cuts kept this conversation below that'}
        </li>
      )}
      {compactions.map(({ atMs, tokens, client, ends, other }) => (
        <li key={`${atMs}${other}`}>
          <i class="mark compaction" aria-hidden="true" />
          {ends
            ? `${client} compacted it at ${compact(tokens)} tokens`
            : 'It begins with the summary of another conversation'}
          , <Time ms={atMs} />
          {other !== '' && (
            <>
              {': '}
              <a href={to('conversation', '', other)}>
                {ends ? 'the conversation that continues it' : 'the conversation before'}
              </a>
            </>
          )}
        </li>
      ))}
      {recoveries.length > 0 && (
        <li>
          <i class="mark recovery" aria-hidden="true" />
          {plural(recoveries.length, 'recovery', 'recoveries')}:{' '}
          {recoveries.slice(0, 8).map(({ atMs, pruneId, lines }) => (
            <span key={`${atMs}${pruneId}`}>
              <a href={to('text', pruneId)}>{plural(lines, 'line')}</a>{' '}
            </span>
          ))}
        </li>
      )}
      {regrets > 0 && (
        <li>
          <i class="mark regret" aria-hidden="true" />
          {plural(regrets, 'request')} brought back what had been cut
        </li>
      )}
    </ul>
  );
}

/** Whether the whole texts would have passed the threshold, and what was sent never did. */
function isAvoided(turns: readonly TurnShown[], threshold: number): boolean {
  return turns.some((turn) => wholeOf(turn) > threshold) && turns.every((turn) => inputOf(turn) <= threshold);
}
