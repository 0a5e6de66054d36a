import { fleetPostgres } from '../parts/fleet/tables/postgres-counting.ts';

/** Further SQL of the extensions' tables in PostgreSQL, such as triggers. */
export const extensionPostgres = fleetPostgres;
