import type { Extension } from '../../../../extensions/extension.ts';

/** Access keys, and the views of their owners. Only facts that are needed before the code of keys is loaded. */
export const keys: Extension = {
  name: 'keys',
  isOn: ({ requireKey }, transport) => requireKey && transport === 'http',
  readings: ['keys'],
  adminRoutes: async (services) => (await import('./admin.ts')).adminRoutes(services),
  open: async (services) => (await import('./open.ts')).openKeys(services),
};
