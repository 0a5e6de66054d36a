import { ledgerContract } from '../contract/ledger-store.suite.ts';
import { openStore, tempPath } from './helpers.ts';

ledgerContract('a store on a file', async () => openStore(tempPath()));
