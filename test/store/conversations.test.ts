import { conversationsContract } from '../contract/conversations.suite.ts';
import { openStore, tempPath } from './helpers.ts';

conversationsContract('a store on a file', async () => openStore(tempPath()));
