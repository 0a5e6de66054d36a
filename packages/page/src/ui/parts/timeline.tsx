import { clock, compact, dollars } from '@mcp-pruner/ui/format.tsx';
import { Badge, Card, Time } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TimelineShown, TurnShown } from '../../shapes.ts';
import { to } from '../route.tsx';
import { Columns, chartWidth, inputOf, LEFT, PARTS, wholeOf } from './timeline-columns.tsx';
import { AsTable, missText } from './turn-table.tsx';

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
  const [box, width] = useWidth();
  const turn = turns[selected];
  if (!turn) return null;
  return (
    <Card title="Context by request" side={<PartsLegend />}>
      {earlier && <p class="quiet small">The newest {count(turns.length)} requests.</p>}
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

/** A ref, and the width of its element in pixels; 0 before layout. */
function useWidth(): [{ readonly current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measured = (): void => setWidth(box.current?.clientWidth ?? 0);
    measured();
    const sized = new ResizeObserver(measured);
    if (box.current) sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  return [box, width];
}

function PartsLegend() {
  return (
    <ul class="legend">
      {PARTS.map(({ name, colour }) => (
        <li key={name}>
          {colour.startsWith('url') ? <i aria-hidden="true" class="hatched" /> : <i style={{ background: colour }} />}
          {name}
        </li>
      ))}
    </ul>
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
          Request {count(index + 1)} of {count(of)}
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
          <Badge tone={miss === 'first_request' ? '' : 'warn'}>{missText(miss, missTokens, missAt)}</Badge>
        )}{' '}
        {turn.odd && <Badge tone="warn">odd: impossible token counts were ignored</Badge>}{' '}
        {turn.regretTokens > 0 && <Badge tone="bad">{compact(turn.regretTokens)} tokens were needed after all</Badge>}
      </p>
      {children}
    </div>
  );
}

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

/** Whether the unpruned texts would have exceeded the threshold, which the sent ones never did. */
function isAvoided(turns: readonly TurnShown[], threshold: number): boolean {
  return turns.some((turn) => wholeOf(turn) > threshold) && turns.every((turn) => inputOf(turn) <= threshold);
}
