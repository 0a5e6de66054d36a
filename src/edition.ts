import { fleet } from '@mcp-pruner/fleet/part.ts';
import { fleetFeatures, fleetSettings } from '@mcp-pruner/fleet/settings.ts';
import { fleetTables } from '@mcp-pruner/fleet/tables/schema.ts';
import { limits } from '@mcp-pruner/limits/part.ts';
import { limitTables } from '@mcp-pruner/limits/tables.ts';
import { seams } from '@mcp-pruner/seams/part.ts';
import { seamSettings } from '@mcp-pruner/seams/settings.ts';
import { seamTables } from '@mcp-pruner/seams/tables.ts';
import { keys } from '@mcp-pruner/team/keys/part.ts';
import { checkKeys } from '@mcp-pruner/team/keys/seat/check.ts';
import { keysSettings } from '@mcp-pruner/team/keys/settings.ts';
import { databaseServer } from '@mcp-pruner/team/postgres/server.ts';
import type { CliEdition } from './cli/command.ts';
import { settingTable } from './config/settings.ts';

/** All optional parts. A smaller edition of the program is a shorter list here and in `commands.ts`. */
export const edition: CliEdition = {
  settings: settingTable([keysSettings, { rows: fleetSettings, features: fleetFeatures }, { rows: seamSettings }]),
  ledger: async () => (await import('@mcp-pruner/ledger/open.ts')).openLedger,
  recall: async () => (await import('@mcp-pruner/recall/open.ts')).openRecall,
  contextGc: async () => (await import('@mcp-pruner/context/open.ts')).openContextGc,
  backend: async (base) =>
    base.settings.backend === 'heuristic'
      ? null
      : (await import('@mcp-pruner/backends/open-scorer.ts')).openBackend(base),
  parts: [fleet, keys, limits, seams],
  page: async (parts) => (await import('@mcp-pruner/page/open.ts')).openPageOf(parts),
  tables: [fleetTables, limitTables, seamTables],
  database: databaseServer,
  checks: [checkKeys, async (...inputs) => (await import('@mcp-pruner/seams/check.ts')).checkSeams(...inputs)],
  examine: async (...inputs) => (await import('@mcp-pruner/agents/doctor/doctor.ts')).examine(...inputs),
  readSeams: async (...inputs) => (await import('@mcp-pruner/seams/report.ts')).readSeams(...inputs),
  compactionsOf: async (...inputs) => (await import('@mcp-pruner/seams/shown.ts')).shownCompactions(...inputs),
  pastThresholds: async (...inputs) =>
    (await import('@mcp-pruner/sessions/report/thresholds.ts')).pastThresholds(...inputs),
  reportSessions: async (...inputs) =>
    (await import('@mcp-pruner/sessions/report/report.ts')).reportSessions(...inputs),
};
