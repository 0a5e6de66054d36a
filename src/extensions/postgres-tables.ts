import { fleetPostgres } from '../fleet/tables/postgres-counting.ts';

/** What the tables of extensions need in PostgreSQL besides their definitions, such as triggers. */
export const extensionPostgres = fleetPostgres;
