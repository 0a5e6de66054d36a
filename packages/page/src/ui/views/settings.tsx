import { Badge, Card, Head, Show, Time, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { plural } from 'mcp-pruner/base/counts.ts';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { SettingShown } from '../../shapes.ts';

interface SettingsAnswer {
  readonly settings: readonly SettingShown[];
  readonly warnings: readonly string[];
}

interface ChangeShown {
  readonly number: number;
  readonly project: string;
  readonly atMs: number;
  readonly author: string;
  /** JSON object. */
  readonly settings: string;
}

function Projects() {
  const answer = useLoaded<{ readonly rows: readonly ChangeShown[] }>('projects');
  const [of, setOf] = useState<string | null>(null);
  return (
    <Show loaded={answer}>
      {({ rows }) =>
        rows.length === 0 ? null : (
          <Card title="Projects with settings of their own">
            <Changes
              rows={rows}
              beside={({ project }) => (
                <button
                  type="button"
                  aria-expanded={of === project}
                  onClick={() => setOf(of === project ? null : project)}
                >
                  History
                </button>
              )}
            />
            {of !== null && <History key={of} project={of} />}
          </Card>
        )
      }
    </Show>
  );
}

function History({ project }: { project: string }) {
  const answer = useLoaded<{ readonly rows: readonly ChangeShown[] }>('projects', { of: project });
  return <Show loaded={answer}>{({ rows }) => <Changes rows={rows} beside={() => null} />}</Show>;
}

function Changes({ rows, beside }: { rows: readonly ChangeShown[]; beside: (row: ChangeShown) => ComponentChildren }) {
  return (
    <ul class="rows inner">
      {rows.map((row) => (
        <li key={row.number}>
          <strong>{row.project}</strong> <code class="breaks">{row.settings}</code>{' '}
          <span class="quiet">
            <Time ms={row.atMs} />, {row.author}
          </span>{' '}
          {beside(row)}
        </li>
      ))}
    </ul>
  );
}

/** All settings in force, with their source. Read-only, because settings are read once at the start. */
export function SettingsView() {
  const answer = useLoaded<SettingsAnswer>('settings');
  const [search, setSearch] = useState('');
  return (
    <>
      <Head
        title="Settings"
        about="The settings in force and their sources. They are read once at the start: change the environment or the file, then restart the server."
      />
      <Show loaded={answer}>
        {({ settings, warnings }) => {
          const wanted = search.trim().toLowerCase();
          const shown = settings.filter(({ key, env, doc }) => `${key} ${env} ${doc}`.toLowerCase().includes(wanted));
          const changed = shown.filter(({ isDefault }) => !isDefault);
          const usual = shown.filter(({ isDefault }) => isDefault);
          return (
            <>
              <Projects />
              {warnings.map((warning) => (
                <p class="note warn" key={warning}>
                  {warning}
                </p>
              ))}
              <search class="filter">
                <label class="unseen" for="settings-search">
                  Search settings
                </label>
                <input
                  id="settings-search"
                  type="search"
                  placeholder="Search settings"
                  value={search}
                  onInput={(event) => setSearch(event.currentTarget.value)}
                />
                <span class="quiet" role="status">
                  {plural(shown.length, 'setting')}
                </span>
              </search>
              <List settings={changed} />
              {wanted === '' ? (
                <details class="as-table">
                  <summary>{plural(usual.length, 'setting')} with the default</summary>
                  <List settings={usual} />
                </details>
              ) : (
                <List settings={usual} />
              )}
            </>
          );
        }}
      </Show>
    </>
  );
}

function List({ settings }: { settings: readonly SettingShown[] }) {
  return settings.length === 0 ? null : (
    <ul class="settings">
      {settings.map((setting) => (
        <Setting key={setting.env} setting={setting} />
      ))}
    </ul>
  );
}

function Setting({ setting: { env, value, isDefault, from, doc, unit } }: { setting: SettingShown }) {
  return (
    <li>
      <div class="setting-head">
        <code>{env}</code>
        <span class="setting-value">
          <code class="breaks">{shown(value)}</code>
          {unit !== '' && value !== null && <span class="quiet"> {unit}</span>}
        </span>
        <Badge tone={isDefault ? '' : 'good'}>{from}</Badge>
      </div>
      <p class="quiet">{doc}</p>
    </li>
  );
}

function shown(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  if (value === '***') return '*** (set, not shown)';
  return typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
}
