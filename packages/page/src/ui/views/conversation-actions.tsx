import { messageOf, post } from '@mcp-pruner/ui/api.tsx';
import { Confirm } from '@mcp-pruner/ui/parts/confirm.tsx';
import { say } from '@mcp-pruner/ui/parts/toast.tsx';
import { useState } from 'preact/hooks';
import type { TextOfTurn } from '../../shapes.ts';

interface Done {
  readonly done: readonly string[];
  readonly errors: readonly string[];
}

type Action = 'pin' | 'unpin' | 'stash' | 'delete';

const SAID: Readonly<Record<Action, string>> = {
  pin: 'Pinned: it is sent whole from the next request on.',
  unpin: 'Unpinned: it may be cut again.',
  stash: 'Stashed: from the next request on, a marker is sent in its place.',
  delete: 'Deleted: from the next request on, only a marker is sent in its place.',
};

export function Actions({
  text,
  title,
  project,
  onChange,
  children,
}: {
  text: TextOfTurn;
  title: string;
  project: string;
  onChange: () => void;
  children: preact.ComponentChildren;
}) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const { directed, id } = text;
  const go = (action: Action): void => {
    setAsking(false);
    setBusy(true);
    const body = { project, segments: [id], confirm: action === 'delete' || undefined };
    post<Done>(action, body)
      .then(
        ({ done, errors }) => {
          say(errors[0] ?? (done.length > 0 ? SAID[action] : 'Nothing was changed.'));
          onChange();
        },
        (cause: unknown) => say(messageOf(cause)),
      )
      .finally(() => setBusy(false));
  };
  const act = (action: Action, name: string, tone = '') => (
    <button
      type="button"
      class={tone}
      disabled={busy}
      onClick={() => (action === 'delete' ? setAsking(true) : go(action))}
      aria-label={`${name} ${title}`}
    >
      {name}
    </button>
  );
  return (
    <div class="actions">
      {children}
      {directed !== 'delete' && (
        <details class="menu">
          <summary>
            Change<span class="unseen"> how {title} is sent</span>
          </summary>
          {directed === 'pin' ? act('unpin', 'Unpin') : act('pin', 'Pin')}
          {directed === null && act('stash', 'Stash')}
          {directed !== 'pin' && act('delete', 'Delete', 'quiet-danger')}
        </details>
      )}
      {asking && <ConfirmDelete title={title} onYes={() => go('delete')} onNo={() => setAsking(false)} />}
    </div>
  );
}

function ConfirmDelete({ title, onYes, onNo }: { title: string; onYes: () => void; onNo: () => void }) {
  return (
    <Confirm title="Delete this text?" yes="Delete for good" onYes={onYes} onNo={onNo}>
      <p>
        <b class="breaks">{title}</b>
      </p>
      <p>
        From the next request on the model sees a marker in its place, and the original that is kept here is erased.
        This cannot be undone. To be able to recover the text, stash it instead.
      </p>
    </Confirm>
  );
}
