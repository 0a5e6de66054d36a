import type { RequestContext } from '../../src/proxy/request-context.ts';

/** The context of a request that names nothing. */
export const NO_CONTEXT: RequestContext = {
  requestId: 'id',
  viewer: null,
  scope: { project: 'default', task: '', requestId: 'id' },
  childId: null,
  caller: '',
  account: '',
  isOff: false,
  sessions: { claudeCode: '', codex: '', others: '' },
  session: '',
  isSubscription: false,
  run: '',
  accountId: '',
  client: 'unknown',
};
