import { useState } from 'preact/hooks';
import type { ConversationShown } from '../../shapes.ts';
import { Failure, get, words } from '../api.tsx';
import { plural } from '../format.tsx';
import { Show, Trouble, useLoaded } from '../parts/loaded.tsx';
import { BoundBadge, Empty, Head, Time } from '../parts/pieces.tsx';
import { to } from '../route.tsx';
import { Start } from './start.tsx';

interface Page {
  readonly conversations: readonly ConversationShown[];
  readonly more: boolean;
}

/** Conversations, the one seen last first. */
export function ConversationsView() {
  const first = useLoaded<Page>('conversations');
  return (
    <>
      <Head title="Conversations" about="What agents talk about, text by text." />
      <Show of={first}>
        {(page) =>
          page.conversations.length === 0 ? (
            <Empty title="No conversation has been seen yet">
              <Start />
            </Empty>
          ) : (
            <List first={page} />
          )
        }
      </Show>
    </>
  );
}

function List({ first }: { first: Page }) {
  const [later, setLater] = useState<readonly ConversationShown[]>([]);
  const [more, setMore] = useState(first.more);
  const [failure, setFailure] = useState<Failure | null>(null);
  const all = [...first.conversations, ...later];
  const earlier = (): void => {
    const last = all.at(-1);
    get<Page>('conversations', { seen: last?.seenMs, row: last?.row }).then(
      (page) => {
        setLater([...later, ...page.conversations]);
        setMore(page.more);
        setFailure(null);
      },
      (cause: unknown) => setFailure(cause instanceof Failure ? cause : new Failure(0, 'unknown', words(cause))),
    );
  };
  return (
    <>
      <ul class="rows">
        {all.map(({ row, project, bound, name, task, turns, messages, seenMs }) => (
          <li key={row}>
            <a class="row" href={to('conversation', project, name)}>
              <b>{task === '' ? project : `${project} · ${task}`}</b>
              {bound && <BoundBadge />}
              <code class="quiet">{name.slice(0, 12)}</code>
              <span class="quiet">
                {plural(turns, 'request')}, {plural(messages, 'message')}
              </span>
              <span class="quiet far">
                <Time ms={seenMs} />
              </span>
            </a>
          </li>
        ))}
      </ul>
      {failure && <Trouble failure={failure} />}
      {more && (
        <button type="button" class="more" onClick={earlier}>
          Earlier conversations
        </button>
      )}
    </>
  );
}
