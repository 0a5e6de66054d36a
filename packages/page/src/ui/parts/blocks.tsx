import { get, messageOf } from '@mcp-pruner/ui/api.tsx';
import { ScrollArea } from '@mcp-pruner/ui/parts/pieces.tsx';
import { say } from '@mcp-pruner/ui/parts/toast.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { useState } from 'preact/hooks';
import type { CutOfText, LineShown, TextPart, WhyShown } from '../../shapes.ts';

export type View = 'cut' | 'both' | 'sent';

/** Adjacent lines that were all kept, or all removed by one cut. */
export interface Block {
  readonly cut: boolean;
  readonly cutDetails: CutOfText | null;
  readonly lines: readonly LineShown[];
}

interface Shown {
  readonly text: TextPart;
  readonly why: WhyShown | null;
}

const NAMES: Readonly<Record<View, string>> = {
  cut: 'The text with its cuts struck out',
  both: 'The text next to what the model saw',
  sent: 'What the model saw',
};

/** The lines of a text, block by block. Tool output is rendered as text nodes, never parsed as HTML. */
export function Blocks({ blocks, view, ...shown }: { blocks: readonly Block[]; view: View } & Shown) {
  return (
    <ScrollArea class={`lines view-${view}`} dir="ltr" label={NAMES[view]}>
      {view === 'both' && (
        <div class="pair-head" aria-hidden="true">
          <span>Original</span>
          <span>What the model saw</span>
        </div>
      )}
      {blocks.map((block) => (
        <OneBlock key={block.lines[0]?.n} block={block} view={view} shown={shown} />
      ))}
    </ScrollArea>
  );
}

function OneBlock({ block, view, shown }: { block: Block; view: View; shown: Shown }) {
  const { cut, cutDetails } = block;
  const marker = cutDetails === null || !shown.text.sent.includeMarkers ? null : <Marker text={cutDetails.marker} />;
  if (view === 'sent') return cut ? marker : <Lines block={block} shown={shown} />;
  if (view === 'both')
    return (
      <div class={cut ? 'pair cut' : 'pair'}>
        <Lines block={block} shown={shown} />
        <div class="right">{cut ? marker : <Lines block={block} shown={{ ...shown, why: null }} />}</div>
      </div>
    );
  return cut ? (
    <>
      <Lines block={block} shown={shown} />
      {marker}
    </>
  ) : (
    <Lines block={block} shown={shown} />
  );
}

function Marker({ text }: { text: string }) {
  return (
    <div class="line marker">
      <span class="n" aria-hidden="true">
        ⟦⟧
      </span>
      <code>
        <span class="unseen">The model saw: </span>
        {text}
      </code>
    </div>
  );
}

/** Longer cuts show only their first and last lines until opened. */
const FOLD_FROM = 24;
const FOLD_KEEPS = 6;

function Lines({ block, shown }: { block: Block; shown: Shown }) {
  const [open, setOpen] = useState(false);
  const { lines, cut, cutDetails } = block;
  const isFolded = cut && !open && shown.why === null && lines.length > FOLD_FROM;
  const head = isFolded ? lines.slice(0, FOLD_KEEPS) : lines;
  const tail = isFolded ? lines.slice(-FOLD_KEEPS) : [];
  const hidden = lines.length - head.length - tail.length;
  const label =
    cutDetails === null
      ? undefined
      : `Lines ${cutDetails.startLine} to ${cutDetails.endLine} were cut: ${cutDetails.reason}`;
  const drawn = (list: readonly LineShown[]) => list.map((line) => <Line key={line.n} line={line} shown={shown} />);
  const body = (
    <>
      {drawn(head)}
      {hidden > 0 && (
        <button type="button" class="fold" onClick={() => setOpen(true)}>
          {plural(hidden, 'more cut line')}
        </button>
      )}
      {drawn(tail)}
    </>
  );
  return cut ? (
    <del class="block">
      {label && <span class="unseen">{label}</span>}
      {body}
    </del>
  ) : (
    <div class="block">{body}</div>
  );
}

function Line({ line, shown: { text, why } }: { line: LineShown; shown: Shown }) {
  const [added, setAdded] = useState({ text: '', more: line.more });
  const region = why?.regions.find(({ startLine }) => startLine === line.n);
  const more = (): void => {
    const at = line.text.length + added.text.length;
    get<{ text: string; more: number }>('line', { id: text.pruneId, n: line.n, at }).then(
      (piece) => setAdded({ text: added.text + piece.text, more: piece.more }),
      (cause: unknown) => say(messageOf(cause)),
    );
  };
  return (
    <>
      {region && (
        <p class={region.kept ? 'why stays' : 'why goes'}>
          <b>
            {region.startLine === region.endLine ? region.startLine : `${region.startLine}–${region.endLine}`}{' '}
            {region.kept ? 'kept' : 'cut'}
          </b>{' '}
          {region.words}
        </p>
      )}
      <div class="line">
        <span class="n" aria-hidden="true">
          {line.n}
        </span>
        <code dir="auto">
          {line.text}
          {added.text}
          {added.more > 0 && (
            <button type="button" class="fold" onClick={more}>
              {count(added.more)} more characters
            </button>
          )}
        </code>
      </div>
    </>
  );
}
