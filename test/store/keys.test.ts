import { keysContract } from '../contract/keys.suite.ts';
import { openStore, tempPath } from './helpers.ts';

const paths = new WeakMap<object, string>();

keysContract('a store on a file', async ({ clock, beside }) => {
  const path = (beside && paths.get(beside)) ?? tempPath();
  const store = openStore(path, clock ? { clock } : {});
  paths.set(store, path);
  return store;
});
