import { type Failure, failureOf, loadSession, type Session } from '@mcp-pruner/ui/api.tsx';
import type { PartPieces, PartView } from '@mcp-pruner/ui/part-view.tsx';
import { Head, Trouble } from '@mcp-pruner/ui/parts/pieces.tsx';
import { Toasts } from '@mcp-pruner/ui/parts/toast.tsx';
import { render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './parts/icon.tsx';
import { Shortcuts } from './parts/shortcuts.tsx';
import { type Route, to, useRoute } from './route.tsx';
import { ConversationView } from './views/conversation.tsx';
import { ConversationsView } from './views/conversations.tsx';
import { DoctorView } from './views/doctor.tsx';
import { LiveView } from './views/live.tsx';
import { OverviewView } from './views/overview.tsx';
import { SettingsView } from './views/settings.tsx';
import { SignIn } from './views/sign-in.tsx';
import { StoreView } from './views/store.tsx';
import { TextPage } from './views/text-page.tsx';
import { ToolsView } from './views/tools.tsx';

type Theme = 'auto' | 'light' | 'dark';
const KEY = 'mcp-pruner-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

/** Light, dark or system theme; stored in the browser. */
function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState(kept);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // without browser storage, the choice lasts until the page is closed
    }
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return [theme, () => setTheme(NEXT[theme])];
}

/** The views in their order. A new view is a row here and a case below. */
const VIEWS = [
  { path: 'overview', name: 'Overview' },
  { path: 'live', name: 'Live' },
  { path: 'conversations', name: 'Conversations' },
  { path: 'tools', name: 'Tools and kinds' },
  { path: 'store', name: 'Store' },
  { path: 'settings', name: 'Settings' },
  { path: 'doctor', name: 'Doctor' },
] as const;

interface Entry {
  readonly path: string;
  readonly name: string;
  readonly icon?: string;
}

/** Draws the page. @param parts - views of optional parts; `pieces`: their additions to other views */
export function openShell(parts: readonly PartView[], pieces: readonly PartPieces[]): void {
  const place = document.getElementById('app');
  if (place) render(<Shell parts={parts} pieces={pieces} />, place);
}

interface Parts {
  readonly parts: readonly PartView[];
}

interface Pieces {
  readonly pieces: readonly PartPieces[];
}

function View({ route: [view, ...rest], session, parts, pieces }: { route: Route; session: Session } & Parts & Pieces) {
  const [first = '', second = ''] = rest;
  switch (view) {
    case 'live':
      return <LiveView />;
    case 'conversations':
      return <ConversationsView />;
    case 'conversation':
      return (
        <ConversationView key={rest.join('/')} project={first === '' ? null : first} name={second} pieces={pieces} />
      );
    case 'text':
      return <TextPage key={first} id={first} />;
    case 'tools':
      return <ToolsView />;
    case 'store':
      return <StoreView />;
    case 'settings':
      return <SettingsView />;
    case 'doctor':
      return <DoctorView can={session.has?.doctor ?? false} />;
    case 'overview':
      return <OverviewView pieces={pieces} />;
    default: {
      const { View = NotFound } = parts.find(({ path }) => path === view) ?? {};
      return <View />;
    }
  }
}

function NotFound() {
  return (
    <>
      <Head title="There is no such page" about={<code class="breaks">{location.hash}</code>} />
      <p>
        <a href={to('overview')}>Overview</a>
      </p>
    </>
  );
}

function entryOf(view = ''): string {
  return view === 'conversation' || view === 'text' ? 'conversations' : view;
}

function Shell({ parts, pieces }: Parts & Pieces) {
  const [session, setSession] = useState<Session | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const route = useRoute();
  const load = useCallback(() => {
    loadSession().then(
      (known) => {
        setSession(known);
        setFailure(null);
      },
      (cause: unknown) => setFailure(failureOf(cause)),
    );
  }, []);
  useEffect(load, []);
  if (failure)
    return (
      <main class="alone">
        <Trouble failure={failure} retry={load} />
      </main>
    );
  if (session === null) return <main class="quiet loading alone">Loading…</main>;
  if (!session.known) return <SignIn onIn={load} />;
  return <Frame session={session} route={route} parts={parts} pieces={pieces} />;
}

function Frame({ session, route, parts, pieces }: { session: Session; route: Route } & Parts & Pieces) {
  const main = useRef<HTMLElement>(null);
  const current = entryOf(route[0]);
  const first = useRef(true);
  const name = [...VIEWS, ...parts].find(({ path }) => path === current)?.name ?? 'No such page';
  // a layout effect, so that title and focus always match the visible view
  useLayoutEffect(() => {
    document.title = `${name} · mcp-pruner`;
    if (!first.current) main.current?.querySelector('h1')?.focus();
    first.current = false;
    scrollTo(0, 0);
  }, [route.join('/')]);
  return (
    <div class="frame">
      <Side session={session} current={current} parts={parts} skip={() => main.current?.focus()} />
      <main id="main" ref={main} tabIndex={-1}>
        {session.health?.store !== undefined && session.health.store !== 'ok' && (
          <div class="note bad" role="alert">
            <div>
              <strong>The store is not available ({session.health.store})</strong>
              <p>Requests go through unpruned until it is back. The Doctor view says what is wrong.</p>
            </div>
            <a class="button" href={to('doctor')}>
              Doctor
            </a>
          </div>
        )}
        <View route={route} session={session} parts={parts} pieces={pieces} />
      </main>
      <Toasts />
    </div>
  );
}

function Side({ session, current, parts, skip }: { session: Session; current: string; skip: () => void } & Parts) {
  const [theme, nextTheme] = useTheme();
  const shown: readonly Entry[] = [...VIEWS, ...parts.filter(({ path }) => session.has?.views.includes(path))];
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  const { mode = 'prune', store = 'ok' } = session.health ?? {};
  const isWell = store === 'ok' && mode === 'prune';
  return (
    <header class="side">
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <a class="brand" href={to('overview')}>
        <img src="/page/icon.svg" alt="" width="28" height="28" />
        <span>mcp-pruner</span>
      </a>
      <nav aria-label="Views">
        <ul ref={list}>
          {shown.map(({ path, name, icon }) => (
            <li key={path}>
              <a href={to(path)} aria-current={path === current ? 'page' : undefined}>
                <Icon name={path} drawing={icon} />
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-foot">
        <p class={isWell ? 'state good' : 'state warn'}>
          <i aria-hidden="true" />
          {store !== 'ok'
            ? 'store not available'
            : mode === 'prune'
              ? 'pruning'
              : mode === 'shadow'
                ? 'shadow: nothing is cut'
                : 'switched off'}
        </p>
        <button type="button" class="plain" onClick={nextTheme} title="Change between light, dark and automatic">
          <Icon name={theme} />
          {theme === 'auto' ? 'Automatic' : theme === 'light' ? 'Light' : 'Dark'}
          <span class="unseen"> colours</span>
        </button>
        <Shortcuts parts={parts} />
        <small class="quiet">version {session.version}</small>
      </div>
    </header>
  );
}
