import { type Failure, failureOf, get, messageOf, post } from '@mcp-pruner/ui/api.tsx';
import { share } from '@mcp-pruner/ui/format.tsx';
import { Time, Trouble } from '@mcp-pruner/ui/parts/pieces.tsx';
import { say } from '@mcp-pruner/ui/parts/toast.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { useEffect, useState } from 'preact/hooks';
import type { LineShown, TextPart, WhyShown } from '../../shapes.ts';
import { type Block, Blocks, type View } from './blocks.tsx';

const LINES_AT_ONCE = 400;
const VIEWS: readonly { readonly view: View; readonly name: string }[] = [
  { view: 'cut', name: 'Cuts struck out' },
  { view: 'both', name: 'Side by side' },
  { view: 'sent', name: 'What the model saw' },
];

/**
 * An original with its cuts: struck out, side by side with the sent text, or as sent.
 *
 * @param explained - whether reasons are shown initially
 */
export function TextView({ id, explained = false }: { id: string; explained?: boolean }) {
  const [text, setText] = useState<TextPart | null>(null);
  const [lines, setLines] = useState<readonly LineShown[]>([]);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [view, setView] = useState<View>('cut');
  const [why, setWhy] = useState<WhyShown | null>(null);

  const failed = (cause: unknown): void => setFailure(failureOf(cause));
  const explain = (): void => {
    get<WhyShown>('why', { id }).then(setWhy, failed);
  };
  const load = (from: number): void => {
    get<TextPart>('text', { id, from, count: LINES_AT_ONCE }).then((part) => {
      setFailure(null);
      setText(part);
      setLines((before) => [...before.filter(({ n }) => n < from), ...part.part]);
      if (explained && from === 1) explain();
    }, failed);
  };
  useEffect(() => load(1), [id]);
  if (text === null)
    return failure ? <Trouble failure={failure} retry={() => load(1)} /> : <p class="quiet loading">Loading…</p>;
  const { next } = text;
  return (
    <div class="text-view">
      <Facts text={text} />
      <div class="tools">
        <fieldset class="choice">
          <legend class="unseen">How it is shown</legend>
          {VIEWS.map((one) => (
            <label key={one.view}>
              <input type="radio" name={`view-${id}`} checked={view === one.view} onChange={() => setView(one.view)} />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
        <button type="button" aria-pressed={why !== null} onClick={() => (why === null ? explain() : setWhy(null))}>
          Reasons
        </button>
      </div>
      {failure && <Trouble failure={failure} />}
      {view !== 'cut' && <SentNote sent={text.sent} />}
      {why !== null && why.caveat !== '' && <p class="quiet">{why.caveat}</p>}
      {why !== null && why.terms.length > 0 && (
        <p class="quiet">
          Words of the goal in this text: <span class="breaks">{why.terms.join(', ')}</span>. A region is cut when its
          worth is below {why.threshold?.toFixed(2)}; 1.00 is average.
        </p>
      )}
      <Blocks blocks={blocksOf(lines, text)} view={view} why={why} text={text} />
      {next !== null && (
        <button type="button" class="more" onClick={() => load(next)}>
          {plural(Math.min(LINES_AT_ONCE, text.lines - next + 1), 'more line')} of {count(text.lines - next + 1)}
        </button>
      )}
    </div>
  );
}

/** Notes settings that change how a text is sent. */
function SentNote({ sent: { mode, includeMarkers, annotateLines } }: { sent: TextPart['sent'] }) {
  const notes = [
    mode === 'prune'
      ? ''
      : 'Nothing is cut at present: the model sees the original. This is what it would see with cuts.',
    includeMarkers ? '' : 'Markers are switched off: cut lines are left out without a trace.',
    annotateLines ? 'The number of each kept line is sent with it.' : '',
  ].filter((note) => note !== '');
  return notes.length === 0 ? null : <p class="quiet">{notes.join(' ')}</p>;
}

function Facts({ text }: { text: TextPart }) {
  const [recovered, setRecovered] = useState<string | null>(null);
  const { pruneId, lines, keptLines, tokensBefore, tokensAfter } = text;
  const recover = (): void => {
    if (recovered !== null) {
      setRecovered(null);
      return;
    }
    post<{ text: string }>('recover', { prune_id: pruneId, start_line: 1, end_line: Math.max(1, lines) }).then(
      (answer) => {
        setRecovered(answer.text);
        say(`Recovered ${plural(lines, 'line')}.`);
      },
      (cause: unknown) => say(messageOf(cause)),
    );
  };
  const copy = (): void => {
    navigator.clipboard.writeText(recovered ?? '').then(
      () => say('Copied.'),
      () => say('This browser does not let the page copy: select the text instead.'),
    );
  };
  return (
    <>
      <div class="facts">
        <p>
          {count(lines - keptLines)} of {plural(lines, 'line')} cut (about{' '}
          {share(tokensBefore - tokensAfter, tokensBefore)} of its tokens) ·{' '}
          {text.kind === '' ? text.sourceType : text.kind.replaceAll('_', ' ')} · <code>{pruneId}</code> · kept until{' '}
          <Time ms={text.expiresMs} />
        </p>
        <button type="button" aria-expanded={recovered !== null} onClick={recover}>
          {recovered === null ? 'Recover the original' : 'Close the original'}
        </button>
      </div>
      {text.notice !== '' && (
        <p class="note warn">
          The model had written a marker into a file. In front of this text it saw: <q class="breaks">{text.notice}</q>
        </p>
      )}
      {text.goal !== '' && (
        <details class="goal">
          <summary>The goal that it was cut for</summary>
          <p class="breaks">{text.goal}</p>
        </details>
      )}
      {recovered !== null && (
        <div class="recovered">
          <div class="actions end">
            <button type="button" onClick={copy}>
              Copy
            </button>
          </div>
          <textarea readOnly rows={12} aria-label="The original, whole" value={recovered} />
        </div>
      )}
    </>
  );
}

/** Groups adjacent lines that were kept, or removed by the same cut. */
function blocksOf(lines: readonly LineShown[], { cuts }: TextPart): readonly Block[] {
  const blocks: { cut: number; lines: LineShown[] }[] = [];
  for (const line of lines) {
    const last = blocks.at(-1);
    if (last?.cut === line.cut) last.lines.push(line);
    else blocks.push({ cut: line.cut, lines: [line] });
  }
  return blocks.map(({ cut, lines: own }) => ({
    cutDetails: cut < 0 ? null : (cuts[cut] ?? null),
    cut: cut >= 0,
    lines: own,
  }));
}
