import { openSqliteStore } from '../../src/store/sqlite.ts';
import { storeContract } from '../contract/store.suite.ts';
import { tempPath } from './helpers.ts';

storeContract('a store on a file', (setup) => openSqliteStore({ path: tempPath(), ...setup }));
storeContract('a store in memory', (setup) => openSqliteStore({ path: ':memory:', ...setup }));
