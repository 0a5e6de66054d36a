import type { CliEdition } from './cli/command.ts';
import { settingTable } from './config/settings.ts';
import { fleet } from './parts/fleet/part.ts';
import { fleetSettings } from './parts/fleet/settings.ts';
import { fleetTables } from './parts/fleet/tables/schema.ts';
import { limits } from './parts/limits/part.ts';
import { limitTables } from './parts/limits/tables.ts';
import { seams } from './parts/seams/part.ts';
import { seamSettings } from './parts/seams/settings.ts';
import { seamTables } from './parts/seams/tables.ts';
import { keys } from './parts/team/keys/part.ts';
import { checkKeys } from './parts/team/keys/seat/check.ts';
import { keysSettings } from './parts/team/keys/settings.ts';
import { databaseServer } from './parts/team/postgres/server.ts';

/** All optional parts. A smaller edition of the program is a shorter list here and in `commands.ts`. */
export const edition: CliEdition = {
  settings: settingTable([keysSettings, { rows: fleetSettings }, { rows: seamSettings }]),
  parts: [fleet, keys, limits, seams],
  page: async (parts) => (await import('./parts/page/open.ts')).openPageOf(parts),
  tables: [fleetTables, limitTables, seamTables],
  database: databaseServer,
  checks: [checkKeys],
  readSeams: async (...inputs) => (await import('./parts/seams/report.ts')).readSeams(...inputs),
  pastThresholds: async (...inputs) =>
    (await import('./parts/sessions/report/thresholds.ts')).pastThresholds(...inputs),
  reportSessions: async (...inputs) => (await import('./parts/sessions/report/report.ts')).reportSessions(...inputs),
};
