import { shelfContract } from '../contract/shelf.suite.ts';
import { openStore, tempPath } from '../store/helpers.ts';

shelfContract('a store on a file', async () => openStore(tempPath()));
