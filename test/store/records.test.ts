import { recordsContract } from '../contract/records.suite.ts';
import { openStore, tempPath } from './helpers.ts';

recordsContract('a store on a file', async (over) => openStore(tempPath(), over));
