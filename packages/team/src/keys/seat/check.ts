import type { Finding } from 'mcp-pruner/app/finding.ts';
import type { Io } from 'mcp-pruner/cli/command.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';

/** Checks that a key exists if keys are required. */
export async function checkKeys(settings: Settings, io: Io): Promise<Finding[]> {
  if (!settings.requireKey) return [];
  const advice = 'mcp-pruner keys create --name <name> --project <project>';
  const { openStore, storeExists } = await import('mcp-pruner/app/store.ts');
  if (!storeExists(settings, (path) => io.fileExists(path))) return [noKey(advice)];
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  try {
    const nowMs = io.clock.nowMs();
    const all = await (await store.keys()).all();
    const open = all.filter(({ revokedMs, expiresMs }) => revokedMs === null && (expiresMs ?? nowMs + 1) > nowMs);
    if (open.length === 0) return [noKey(advice)];
    return [{ level: 'ok', what: `each request must name a key: ${open.length} of ${all.length} are open` }];
  } catch {
    return []; // store faults are reported by other checks
  } finally {
    await store.close();
  }
}

function noKey(advice: string): Finding {
  return { level: 'failure', what: 'each request must name a key (MCP_PRUNER_REQUIRE_KEY), and there is none', advice };
}
