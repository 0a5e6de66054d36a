import type { DatabaseServer } from 'mcp-pruner/app/guest.ts';

/** PostgreSQL as the store; its driver loads with the first store. */
export const databaseServer: DatabaseServer = {
  open: async (options) => (await import('./store.ts')).openPostgresStore(options),
  openSide: async (...inputs) => (await import('./move-side.ts')).openPostgresSide(...inputs),
};
