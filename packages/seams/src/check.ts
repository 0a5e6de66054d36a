import type { Finding } from 'mcp-pruner/app/finding.ts';
import type { Io } from 'mcp-pruner/cli/command.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { CompactionBook } from './book.ts';

const MONTH_MS = 30 * 86_400_000;

/** Reports models that are not asked for summaries at the moment, and summaries that providers refused in 30 days. */
export async function checkSeams(settings: Settings, io: Io): Promise<Finding[]> {
  const { openStore, storeExists } = await import('mcp-pruner/app/store.ts');
  if (!storeExists(settings, (path) => io.fileExists(path))) return [];
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  try {
    const book = new CompactionBook(store.sql);
    const nowMs = io.clock.nowMs();
    const off = [...(await book.offModels(nowMs))].filter(([, { untilMs }]) => untilMs > nowMs);
    const refused = await book.refusedSince(nowMs - MONTH_MS);
    return [
      ...off.map(([model, { untilMs, cause }]): Finding => {
        const until = new Date(untilMs).toISOString().slice(0, 16).replace('T', ' ');
        const what = `${model} failed three times to summarise finished work (last: ${cause}); it is not asked before ${until} UTC`;
        return { level: 'note', what, advice: 'conversations go on whole meanwhile; the log names each failure' };
      }),
      ...(refused.count === 0 ? [] : [refusal(refused)]),
    ];
  } catch {
    return []; // store faults are reported by other checks
  } finally {
    await store.close();
  }
}

function refusal({ count, conversation }: { readonly count: number; readonly conversation: string }): Finding {
  const what = `providers refused ${count} of their own summaries of finished work in 30 days; those conversations go on whole`;
  return { level: 'note', what, advice: `mcp-pruner why --conversation ${conversation}` };
}
