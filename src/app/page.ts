import type { RequestListener } from 'node:http';
import type { Loaded } from '../config/load.ts';
import { rows, type Settings } from '../config/settings.ts';
import { HIDDEN } from '../config/show.ts';
import { allowedCallers } from '../core/origin.ts';
import { hasFleet } from '../mcp/info.ts';
import { PageAccess } from '../page/access.ts';
import { openPage } from '../page/page.ts';
import type { PageParts } from '../page/parts.ts';
import type { SettingShown } from '../page/shapes.ts';
import type { ViewParts } from './mounts.ts';

/** Builds the page over the services. Loaded with the first request for it. */
export async function openPageOf(parts: ViewParts): Promise<RequestListener> {
  const { settings, store, events, recorder, clock, examine, loaded } = parts;
  const { allowedHosts, host, authToken } = settings;
  const pageParts: PageParts = {
    access:
      parts.pageAccess ??
      new PageAccess({ allowed: allowedCallers([...allowedHosts, host], []), token: authToken, clock }),
    ...{ version: parts.version, clock, store, pruner: parts.pruner, contextGc: parts.contextGc },
    flush: async () => {
      await Promise.all([recorder.flush(), events.flush()]);
    },
    onWritten: (listener) => events.onWritten(listener),
    ledger: parts.pageLedger ?? parts.ledger,
    health: parts.health,
    settings: () => settingsShown(settings, loaded),
    warnings: loaded?.warnings ?? [],
    limits: {
      maxBytes: settings.storeMaxBytes,
      ttlS: settings.pruneIdTtlS,
      place: settings.databaseUrl === null ? settings.dbPath : 'a database server',
    },
    sent: {
      mode: settings.enabled ? settings.mode : 'off',
      includeMarkers: settings.includeMarkers,
      annotateLines: settings.annotateLines,
    },
    doctor: examine ?? null,
    fleet: parts.hasFleet !== false && hasFleet(settings) ? () => store.fleet() : null,
    stopping: parts.stopping,
    onFailure: parts.failures.of('page'),
  };
  return openPage(pageParts, parts.pageFolder);
}

/** Every setting as it holds, with its origin in words; secrets never. */
function settingsShown(settings: Settings, loaded: Pick<Loaded, 'origins'> | undefined): SettingShown[] {
  return rows.map(({ key, setting }) => {
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
