import { type Failure, failureOf, get } from '@mcp-pruner/ui/api.tsx';
import { compact, dollars } from '@mcp-pruner/ui/format.tsx';
import type { PartPieces } from '@mcp-pruner/ui/part-view.tsx';
import { Badge, Bar, BoundBadge, Head, Show, Time, Trouble, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { useMemo, useState } from 'preact/hooks';
import type { ConversationPage, ConversationShown, TextOfTurn, TimelineShown, TurnShown } from '../../shapes.ts';
import { alignedRequests } from '../parts/align.ts';
import { Icon } from '../parts/icon.tsx';
import { TextView } from '../parts/text-view.tsx';
import { Timeline } from '../parts/timeline.tsx';
import { previousView, to } from '../route.tsx';
import { Actions } from './conversation-actions.tsx';
import { nameOf } from './conversations.tsx';

export function ConversationView({
  project,
  name,
  pieces,
}: {
  project: string | null;
  name: string;
  pieces: readonly PartPieces[];
}) {
  const newest = useLoaded<ConversationPage>('conversation', { name, project });
  const timeline = useLoaded<TimelineShown>('timeline', { name, project });
  const [back] = useState(() => (previousView()?.startsWith(to('conversations')) ? previousView() : null));
  const reload = (): void => {
    newest.reload();
    timeline.reload();
  };
  const { earlier, failure, more } = useEarlier(name, project);
  const title = newest.value ? nameOf(newest.value.conversation) : 'Conversation';
  return (
    <>
      <Head title={title} about={newest.value && <About conversation={newest.value.conversation} />}>
        <a class="button" href={back ?? to('conversations')}>
          All conversations
        </a>
        <button type="button" data-refresh onClick={reload}>
          Refresh
        </button>
      </Head>
      {pieces.map(({ Conversation }, i) => (
        <Conversation key={i} name={name} />
      ))}
      <Show loaded={newest}>
        {(page) => {
          const texts = [...earlier.flatMap((one) => one.texts), ...page.texts];
          const before = (earlier[0] ?? page).earlier;
          return (
            <>
              {timeline.failure && <Trouble failure={timeline.failure} retry={timeline.reload} />}
              {timeline.value && <Requests timeline={timeline.value} texts={texts} />}
              <Sums texts={texts} />
              {failure && <Trouble failure={failure} />}
              {before && (
                <button type="button" class="more" onClick={() => more(before)}>
                  Earlier texts
                </button>
              )}
              <Turns
                texts={texts}
                requests={timeline.value?.turns ?? []}
                project={page.conversation.project}
                onChange={newest.reload}
              />
            </>
          );
        }}
      </Show>
    </>
  );
}

function useEarlier(name: string, project: string | null) {
  const [earlier, setEarlier] = useState<readonly ConversationPage[]>([]);
  const [failure, setFailure] = useState<Failure | null>(null);
  const more = (before: NonNullable<ConversationPage['earlier']>): void => {
    get<ConversationPage>('conversation', { name, project, ...before }).then(
      (page) => {
        setEarlier([page, ...earlier]);
        setFailure(null);
      },
      (cause: unknown) => setFailure(failureOf(cause)),
    );
  };
  return { earlier, failure, more };
}

function About({ conversation }: { conversation: ConversationShown }) {
  const { project, client, bill, turns, seenMs, bound } = conversation;
  const facts = [project, client, bill?.model].filter((fact) => fact);
  return (
    <>
      {facts.join(' · ')} · {plural(bill?.requests ?? turns, 'request')}, last <Time ms={seenMs} />
      {bill && bill.dollars !== null && bill.dollarsWithout !== null && (
        <>
          {' · '}
          <b>{dollars(bill.dollars)}</b> instead of {dollars(bill.dollarsWithout)}
        </>
      )}{' '}
      {bound && <BoundBadge />}
    </>
  );
}

interface Turn {
  readonly turn: number;
  /** Index of the request on the timeline; -1 without one. */
  readonly request: number;
  readonly texts: readonly TextOfTurn[];
}

/** The timeline, with the cuts of the selected request; initially the newest one with a new cut. */
function Requests({ timeline, texts }: { timeline: TimelineShown; texts: readonly TextOfTurn[] }) {
  const { turns } = timeline;
  const [chosen, setChosen] = useState<number | null>(null);
  const cutLast = turns.findLastIndex(({ removedNew }) => removedNew > 0);
  const selected = Math.min(chosen ?? (cutLast < 0 ? turns.length - 1 : cutLast), turns.length - 1);
  const own = useMemo(() => turnsOf(texts, turns), [texts, turns]).find(({ request }) => request === selected);
  const cut = own?.texts.filter(({ cuts }) => cuts.length > 0) ?? [];
  return (
    <Timeline timeline={timeline} selected={selected} onSelect={setChosen}>
      {own && (
        <p>
          <button type="button" onClick={() => goTo(own.turn)}>
            Go to its texts
          </button>
        </p>
      )}
      {cut.map((text) => (
        <CutOf key={text.row} text={text} />
      ))}
    </Timeline>
  );
}

const idOf = (turn: number): string => `turn-${turn}`;

function goTo(turn: number): void {
  const heading = document.getElementById(idOf(turn));
  heading?.scrollIntoView({ block: 'start' });
  heading?.focus();
}

function CutOf({ text }: { text: TextOfTurn }) {
  const [open, setOpen] = useState(false);
  const title = titleOf(text);
  return (
    <div>
      <code class="breaks">{title}</code> {cutWords(text.cuts)} cut{' '}
      <button type="button" class="small" data-cut aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Close' : 'Why?'}
        <span class="unseen"> The reasons for the cuts of {title}, at the timeline</span>
      </button>
      {open && text.cuts.map(({ pruneId }) => <TextView key={pruneId} id={pruneId} explained />)}
    </div>
  );
}

/** Describes the cuts of texts in lines; the timeline shows their tokens per request. */
function cutWords(cuts: TextOfTurn['cuts']): string {
  const all = cuts.reduce((sum, { lines }) => sum + lines, 0);
  const kept = cuts.reduce((sum, { keptLines }) => sum + keptLines, 0);
  return `${count(all - kept)} of ${plural(all, 'line')}`;
}

function Sums({ texts }: { texts: readonly TextOfTurn[] }) {
  const cuts = texts.flatMap((text) => text.cuts);
  const note = 'Texts that were sent whole are listed without their content.';
  if (cuts.length === 0) return <p class="quiet sums">None of the texts below was cut. {note}</p>;
  return (
    <p class="sums">
      {plural(cuts.length, 'text')} of the {count(texts.length)} below {cuts.length === 1 ? 'was' : 'were'} cut:{' '}
      <b>{cutWords(cuts)}</b> are not sent.
      <span class="quiet"> {note}</span>
    </p>
  );
}

function turnsOf(texts: readonly TextOfTurn[], requests: readonly TurnShown[]): readonly Turn[] {
  const groups = [...Map.groupBy(texts, ({ turn }) => turn)];
  const times = groups.map(([, own]) => own[0]?.atMs ?? 0);
  const aligned = alignedRequests(
    times,
    requests.map(({ atMs }) => atMs),
  );
  const turns: { readonly turn: number; readonly request: number; readonly texts: TextOfTurn[] }[] = [];
  for (const [i, [turn, own]] of groups.entries()) {
    const request = aligned[i] ?? -1;
    const last = turns.at(-1);
    if (last !== undefined && last.request === request && request >= 0) last.texts.push(...own);
    else turns.push({ turn, request, texts: own });
  }
  return turns;
}

function Turns({
  texts,
  requests,
  project,
  onChange,
}: {
  texts: readonly TextOfTurn[];
  requests: readonly TurnShown[];
  project: string;
  onChange: () => void;
}) {
  const turns = turnsOf(texts, requests);
  return (
    <>
      {turns.map(({ turn, request, texts: own }) => (
        <section class="turn" key={own[0]?.row} aria-labelledby={idOf(turn)}>
          <h2 id={idOf(turn)} tabIndex={-1}>
            {request < 0 ? 'Request' : `Request ${count(request + 1)}`}
            {own[0] && (
              <span class="quiet">
                {' '}
                <Time ms={own[0].atMs} />
              </span>
            )}
          </h2>
          {own.map((text) => (
            <Text key={text.row} text={text} project={project} onChange={onChange} />
          ))}
        </section>
      ))}
    </>
  );
}

const ROLES: Readonly<Record<string, string>> = { user: 'User', assistant: 'Assistant', tool: 'Tool result' };

function titleOf({ role, tool, path, startLine, endLine, asked }: TextOfTurn): string {
  if (path === '') return tool === '' ? (ROLES[role] ?? role) : `${tool} ${asked}`.trimEnd();
  const lines = startLine > 0 ? `:${startLine}${endLine > startLine ? `-${endLine}` : ''}` : '';
  return `${tool === '' ? '' : `${tool} `}${path}${lines}`;
}

function Text({ text, project, onChange }: { text: TextOfTurn; project: string; onChange: () => void }) {
  const [open, setOpen] = useState<'text' | 'why' | null>(null);
  const { cuts, stash, directed } = text;
  const ids = [...cuts.map(({ pruneId }) => pruneId), ...(stash === null ? [] : [stash])];
  const before = cuts.reduce((sum, cut) => sum + cut.lines, 0);
  const after = cuts.reduce((sum, cut) => sum + cut.keptLines, 0);
  const isGone = directed === 'stash' || directed === 'aside' || directed === 'delete';
  const title = titleOf(text);
  return (
    <article
      class={`text role-${text.role}${isGone || text.left ? ' gone' : ''}`}
      aria-label={`${ROLES[text.role] ?? text.role}: ${title}`}
    >
      <div class="text-head">
        <Icon name={text.role} />
        <h3 title={title}>{title}</h3>
        <span class="badges">
          {cuts.length > 0 && !isGone && <Badge tone="cut">{plural(before - after, 'line')} cut</Badge>}
          {directed === 'pin' && <Badge tone="good">pinned</Badge>}
          {directed === 'stash' && <Badge tone="warn">stashed</Badge>}
          {directed === 'aside' && <Badge tone="warn">put aside</Badge>}
          {directed === 'delete' && <Badge tone="bad">deleted</Badge>}
          {text.left && <Badge>left the conversation</Badge>}
        </span>
        <span class="quiet far fate">
          {cuts.length > 0 && !isGone && (
            <>
              <Bar part={after} all={before} tone="good" />
              {count(after)} of {plural(before, 'line')} ·{' '}
            </>
          )}
          {cuts.length === 0 && !isGone && `${plural(text.lines, 'line')} · `}
          about {compact(text.tokens)} {text.tokens === 1 ? 'token' : 'tokens'}
        </span>
        <Actions text={text} title={title} project={project} onChange={onChange}>
          {ids.length > 0 && (
            <button type="button" aria-expanded={open !== null} onClick={() => setOpen(open === null ? 'text' : null)}>
              {open === null ? 'Show' : 'Close'}
              <span class="unseen"> what was cut of {title}</span>
            </button>
          )}
          {ids.length > 0 && open === null && (
            <button type="button" data-cut onClick={() => setOpen('why')}>
              Why?<span class="unseen"> The reasons for the cuts of {title}</span>
            </button>
          )}
        </Actions>
      </div>
      {isGone && <p class="quiet small">{fate(text)}</p>}
      {open !== null && ids.map((id) => <TextView key={id} id={id} explained={open === 'why'} />)}
    </article>
  );
}

function fate({ directed }: TextOfTurn): string {
  return directed === 'delete'
    ? 'From the next request on, only a marker is sent in its place, and its original is erased here.'
    : 'A marker is sent in its place from the next request on; pin it to send it whole again.';
}
