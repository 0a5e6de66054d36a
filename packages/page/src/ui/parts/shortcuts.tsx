import type { PartView } from '@mcp-pruner/ui/part-view.tsx';
import { useEffect, useRef, useState } from 'preact/hooks';
import { to } from '../route.tsx';

const KEPT = 'mcp-pruner-shortcuts';
const OFF = 'off';

/** Views by the key pressed after `g`. */
const VIEW_KEYS: Readonly<Record<string, string>> = {
  o: 'overview',
  l: 'live',
  c: 'conversations',
  t: 'tools',
  s: 'store',
  e: 'settings',
  d: 'doctor',
};

const HELP: readonly (readonly [keys: string, what: string])[] = [
  ['g then o, l, c, t', 'Overview, Live, Conversations, Tools'],
  ['g then s, e, d', 'Store, Settings, Doctor'],
  ['/', 'search'],
  ['j, k', 'next or previous row'],
  ['n, p', 'next or previous cut with its reasons'],
  ['r', 'reload'],
  ['?', 'this list'],
  ['Esc', 'close'],
];

/** Maximum time between `g` and the next key, in milliseconds. */
const CHORD_MS = 1_500;

function areOn(): boolean {
  try {
    return localStorage.getItem(KEPT) !== OFF;
  } catch {
    return true;
  }
}

/** A part's view with a shortcut key. */
type KeyedView = Pick<Required<PartView>, 'key' | 'path' | 'name'>;

/** Handles keys of the whole page. `isOn` is read on each key press, so that the switch takes effect at once. */
function useKeys(keyed: readonly KeyedView[], isOn: { readonly current: boolean }, onHelp: () => void): void {
  useEffect(() => {
    let afterG = 0;
    const pressed = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, timeStamp } = event;
      if (ctrlKey || metaKey || altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
      if (key === '?') onHelp();
      if (!isOn.current) return;
      const view =
        timeStamp - afterG < CHORD_MS ? (VIEW_KEYS[key] ?? keyed.find((view) => view.key === key)?.path) : undefined;
      afterG = key === 'g' ? timeStamp : 0;
      if (view !== undefined) location.hash = to(view);
      else if (key === '/') focusOn(document.querySelector<HTMLElement>('[data-search]'), event);
      else if (key === 'j' || key === 'k') step('[data-step]', key === 'j', event);
      else if (key === 'n' || key === 'p') step('[data-cut]', key === 'n', event);
      else if (key === 'r') document.querySelector<HTMLElement>('[data-refresh]')?.click();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

/** Keyboard shortcuts with a help list, opened by `?`. They can be switched off. */
export function Shortcuts({ parts }: { parts: readonly PartView[] }) {
  const keyed = parts.flatMap(({ key, path, name }) => (key === undefined ? [] : [{ key, path, name }]));
  const [open, setOpen] = useState(false);
  const [on, setOn] = useState(areOn);
  const isOn = useRef(on);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  useKeys(keyed, isOn, () => setOpen(true));
  const switchTo = (next: boolean): void => {
    setOn(next);
    isOn.current = next;
    try {
      localStorage.setItem(KEPT, next ? 'on' : OFF);
    } catch {
      // without browser storage, the choice lasts until the page is closed
    }
  };
  return (
    <>
      <button type="button" class="plain" onClick={() => setOpen(true)}>
        <kbd>?</kbd> Keys
      </button>
      {open && (
        <dialog ref={dialog} aria-labelledby="keys-title" onClose={() => setOpen(false)}>
          <h2 id="keys-title">Keys</h2>
          <dl class="keys">
            {[...HELP, ...keyed.map(({ key, name }) => [`g then ${key}`, name] as const)].map(([keys, what]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <label class="check">
            <input type="checkbox" checked={on} onChange={(event) => switchTo(event.currentTarget.checked)} />
            Enable single-key shortcuts
          </label>
          <div class="actions end">
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
          </div>
        </dialog>
      )}
    </>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches('input:not([type=range], [type=checkbox], [type=radio]), textarea, select')
  );
}

function focusOn(element: HTMLElement | null | undefined, event: KeyboardEvent): void {
  if (!element) return;
  event.preventDefault();
  element.focus();
  element.scrollIntoView({ block: 'nearest' });
}

/** Moves the focus to the next or previous element of a kind, or to the first one. */
function step(selector: string, forward: boolean, event: KeyboardEvent): void {
  const all = [...document.querySelectorAll<HTMLElement>(`main ${selector}`)];
  const at = all.findIndex((one) => one.matches(':focus'));
  focusOn(at < 0 ? all[0] : all[at + (forward ? 1 : -1)], event);
}
