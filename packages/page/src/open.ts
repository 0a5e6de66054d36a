import type { RequestListener } from 'node:http';
import { readContexts, readThreshold } from '@mcp-pruner/money/compactions.ts';
import { signInsOf } from 'mcp-pruner/app/context.ts';
import type { ViewParts } from 'mcp-pruner/app/mounts.ts';
import { PageAccess } from 'mcp-pruner/app/page/access.ts';
import { settingsInWords } from 'mcp-pruner/config/show.ts';
import { allowedCallers } from 'mcp-pruner/core/web-origin.ts';
import { openPage } from './page.ts';
import type { PageParts } from './views.ts';

export function openPageOf(parts: ViewParts): Promise<RequestListener> {
  const { edition, settings, store, events, flushSeen, clock, examine, loaded } = parts;
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
    ...{ version: parts.version, clock, store, pruner: parts.pruner, contextGc: parts.contextGc.gc },
    flush: async () => {
      await Promise.all([flushSeen(), events.flush()]);
    },
    onWritten: (listener) => events.onWritten(listener),
    ledger: parts.ledgerView,
    savingAlarm: () => (isNarrow ? null : parts.savings.alarm),
    contexts: (query) => readContexts(store.compactions, query),
    threshold: (of) => readThreshold(store.compactions, of),
    recall: parts.recall,
    project: parts.viewerProject ?? 'default',
    keepsTitles: settings.conversationTitles,
    health: parts.health,
    settings: () => settingsInWords(settings, edition.settings, loaded, isNarrow),
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
      includeMarkers: settings.includeMarkers !== false,
      shortMarkers: settings.includeMarkers !== 'full',
      annotateLines: settings.annotateLines,
    },
    doctor: examine ?? null,
    partReadings: {
      ...Object.fromEntries(edition.parts.flatMap(({ readings }) => readings.map((path) => [path, null]))),
      ...Object.assign(
        {},
        ...parts.opened.map(({ rows }) => (isNarrow ? rows.viewed?.(parts.viewerProjects ?? []) : rows.readings)),
      ),
    },
    partActions: isNarrow ? {} : Object.assign({}, ...parts.opened.map(({ rows }) => rows.actions)),
    stopping: parts.stopping,
    onFailure: parts.failures.of('page'),
  };
  return openPage(pageParts, parts.pageFolder);
}
