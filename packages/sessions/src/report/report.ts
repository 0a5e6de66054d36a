import { PESSIMISTIC, USUAL } from '@mcp-pruner/money/thresholds.ts';
import { SESSION_CHARS } from 'mcp-pruner/base/conversation-ids.ts';
import { type Call, type Io, painter } from 'mcp-pruner/cli/command.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { textHash } from 'mcp-pruner/core/hash.ts';
import { knownSessions } from 'mcp-pruner/store/known-names.ts';
import { ProgressBar } from '../progress.ts';
import { sessionFiles } from './places.ts';
import { shareText } from './share.ts';
import { nothingText, sessionsText } from './text.ts';

const DAY_MS = 86_400_000;

/**
 * `report --sessions`: cost of the sessions on this machine, and the effect that pruning would have had. Files are only
 * read; nothing is sent or written.
 */
export async function reportSessions(call: Call, io: Io, days: number): Promise<number> {
  const sinceMs = io.clock.nowMs() - days * DAY_MS;
  const files = sessionFiles(io.homeDir, sinceMs);
  const { settings } = readSettings(call, io);
  const [{ pricesOf }, { Past }] = await Promise.all([
    import('@mcp-pruner/money/installed-prices.ts'),
    import('./past.ts'),
  ]);
  const bar = new ProgressBar(io.errIsTerminal === true ? io.err : null, files.length);
  const store = await knowing(settings, io);
  try {
    const past = new Past({
      ...{ settings, clock: io.clock, prices: pricesOf(settings) },
      cuts: call.values.cuts === true || call.values.share === true,
      leftover: call.values.pessimistic === true ? PESSIMISTIC : USUAL,
      isKnown: store?.isKnown ?? null,
      isProxied: store?.isProxied ?? null,
      onProgress: (done, agent) => bar.show(done, agent),
    });
    const found = await past.report(files, sinceMs);
    bar.clear();
    if (call.values.json === true) io.out(`${JSON.stringify(found, found.measured ? undefined : withoutCuts, 2)}\n`);
    else if (found.report.totals.requests === 0) io.out(nothingText(sinceMs, io.columns));
    else if (call.values.share === true) {
      const builtIn = pricesOf({ prices: null });
      const isPublic = (model: string): boolean => builtIn.of(model, io.clock.nowMs()) !== null;
      io.out(shareText(found, days, io.version, isPublic));
    } else io.out(sessionsText(found, painter(io), io.columns));
    return 0;
  } finally {
    bar.clear();
    await store?.close();
  }
}

/** Fields of the JSON that depend on cuts, which were not measured. */
const OF_CUTS: ReadonlySet<string> = new Set(['dollarsWith', 'saved', 'removed', 'removedNew', 'withCuts', 'lines']);

/** A replacer for JSON: a zero would read as "cuts save nothing". */
function withoutCuts(key: string, value: unknown): unknown {
  return OF_CUTS.has(key) ? null : value;
}

/** Looks up cuts in this machine's store, if there is one. */
async function knowing(settings: Settings, io: Io) {
  const { openStore, storeExists } = await import('mcp-pruner/app/store.ts');
  if (!storeExists(settings, (path) => io.fileExists(path))) return null;
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  const sessions = await knownSessions(store.sql).catch(() => null); // likewise
  return {
    isProxied: sessions && ((id: string) => sessions.has(textHash(id).slice(0, SESSION_CHARS))),
    isKnown: async (pruneIds: readonly string[]): Promise<boolean> => {
      const find = (id: string) => store.findPrune(id).catch(() => null); // a store that cannot be read counts as empty
      const found = await Promise.all(pruneIds.map(find));
      return found.some((prune) => prune !== null);
    },
    close: () => store.close(),
  };
}
