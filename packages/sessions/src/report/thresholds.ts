import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { USUAL } from '@mcp-pruner/money/thresholds.ts';
import type { Io } from 'mcp-pruner/cli/command.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { ThresholdCost } from 'mcp-pruner/core/ports/seams-report.ts';
import { sessionFiles } from './places.ts';
import { WhatIf } from './what-if.ts';

/**
 * What compactions would have changed in an agent's sessions on this machine; `[]` without any. Nothing is pruned.
 *
 * @param agent - as in `PLACES`, such as `Claude Code`
 */
export async function pastThresholds(
  io: Io,
  settings: Settings,
  agent: string,
  sinceMs: number,
): Promise<readonly ThresholdCost[]> {
  const whatIf = new WhatIf(pricesOf(settings));
  for (const file of sessionFiles(io.homeDir, sinceMs)) {
    if (file.agent !== agent) continue;
    const session = await file.read(() => {}).catch(() => null); // the other files are still read
    if (session !== null) whatIf.add(session.requests.filter(({ atMs }) => atMs >= sinceMs));
  }
  return whatIf.thresholds(USUAL);
}
