import type { RequestListener } from 'node:http';
import type { Loaded } from '../config/load.ts';
import { pruningSettings } from '../config/settings/pruning.ts';
import { toolsSettings } from '../config/settings/tools.ts';
import { rows, type Settings } from '../config/settings.ts';
import { HIDDEN } from '../config/show.ts';
import { allowedCallers } from '../core/origin.ts';
import { extensions } from '../extensions/all.ts';
import { readContexts } from '../ledger/compactions.ts';
import { PageAccess } from '../page/access.ts';
import { openPage } from '../page/page.ts';
import type { PageParts } from '../page/parts.ts';
import type { SettingShown } from '../page/shapes.ts';
import { signInsOf } from './audit.ts';
import type { ViewParts } from './mounts.ts';
import { viewerFindings } from './viewer-health.ts';

/** Builds the page over the services. Loaded with the first request for it. */
export async function openPageOf(parts: ViewParts): Promise<RequestListener> {
  const { settings, store, events, recorder, clock, examine, loaded } = parts;
  const { allowedHosts, host, authToken } = settings;
  const { isNarrow = false } = parts;
  const pageParts: PageParts = {
    access:
      parts.pageAccess ??
      new PageAccess({
        allowed: allowedCallers([...allowedHosts, host], []),
        token: authToken,
        clock,
        onSignedIn: signInsOf(parts),
      }),
    ...{ version: parts.version, clock, store, pruner: parts.pruner, contextGc: parts.contextGc },
    flush: async () => {
      await Promise.all([recorder.flush(), events.flush()]);
    },
    onWritten: (listener) => events.onWritten(listener),
    ledger: parts.pageLedger ?? parts.ledger,
    savingAlarm: () => (isNarrow ? null : parts.savings.alarm),
    contexts: (query) => readContexts(store.compactions, query),
    recall: parts.recall,
    project: parts.viewerProject ?? 'default',
    keepsTitles: settings.conversationTitles,
    health: parts.health,
    settings: () => settingsShown(settings, loaded, isNarrow),
    warnings: isNarrow ? [] : (loaded?.warnings ?? []),
    limits: {
      maxBytes: settings.storeMaxBytes,
      ttlS: settings.pruneIdTtlS,
      place: isNarrow
        ? 'the store of this proxy'
        : settings.databaseUrl === null
          ? settings.dbPath
          : 'a database server',
    },
    sent: {
      mode: settings.enabled ? settings.mode : 'off',
      includeMarkers: settings.includeMarkers,
      annotateLines: settings.annotateLines,
    },
    reasonLanguage: settings.reasonLanguage,
    doctor: isNarrow ? async () => viewerFindings(parts.health()) : (examine ?? null),
    furtherReadings: {
      ...Object.fromEntries(extensions.flatMap(({ readings }) => readings.map((path) => [path, null]))),
      ...(isNarrow ? {} : Object.assign({}, ...parts.opened.map(({ readings }) => readings))),
    },
    furtherActions: isNarrow ? {} : Object.assign({}, ...parts.opened.map(({ actions }) => actions)),
    stopping: parts.stopping,
    onFailure: parts.failures.of('page'),
  };
  return openPage(pageParts, parts.pageFolder);
}

/** Settings that say what happens to requests; all others are about the server itself, such as addresses and paths. */
const OF_REQUESTS: ReadonlySet<string> = new Set(Object.keys({ ...pruningSettings, ...toolsSettings }));

/** Settings as they hold, with their origin in words; secrets never. @param isNarrow - leaves out those of the server */
function settingsShown(
  settings: Settings,
  loaded: Pick<Loaded, 'origins'> | undefined,
  isNarrow: boolean,
): SettingShown[] {
  const shown = isNarrow ? rows.filter(({ key }) => OF_REQUESTS.has(key)) : rows;
  return shown.map(({ key, setting }) => {
    const value = settings[key];
    const { from, name } = loaded?.origins[key] ?? { from: 'default', name: '' };
    return {
      key: setting.toml ?? setting.env[0],
      env: setting.env[0],
      value: setting.secret && value !== null ? HIDDEN : value,
      isDefault: from === 'default',
      from: from === 'default' ? 'default' : from === 'implied' ? `because of ${name}` : `${FROM[from]} ${name}`,
      doc: setting.doc,
      unit: setting.unit ?? '',
    };
  });
}

const FROM = { file: 'file', env: 'environment', flag: 'option' } as const;
