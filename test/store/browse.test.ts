import { browseContract } from '../contract/browse.suite.ts';
import { openStore, tempPath } from './helpers.ts';

browseContract('a store on a file', async () => openStore(tempPath()));
