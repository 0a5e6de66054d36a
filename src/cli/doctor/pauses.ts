import type { Finding } from '../../app/finding.ts';
import type { Settings } from '../../config/settings.ts';
import type { Io } from '../command.ts';
import { hourCachePays, hourCacheWords } from '../context-text.ts';
import { findingsOfMonth } from './month.ts';

/** Advises a longer cache lifetime where it would have saved more than it costs, on the user's own pauses. */
export function checkPauses(settings: Settings, io: Io): Promise<Finding[]> {
  return findingsOfMonth(settings, io, async ({ compactions }, sinceDay) => {
    const cold = await compactions.cold({ sinceMs: Date.parse(sinceDay) });
    return hourCachePays(cold) ? [{ level: 'note', ...hourCacheWords(cold) }] : [];
  });
}
