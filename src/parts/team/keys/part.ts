import type { Part } from '../../../app/part.ts';

/** Access keys, and the views of their owners. Only facts that are needed before the code of keys is loaded. */
export const keys: Part = {
  name: 'keys',
  isOn: ({ requireKey }, transport) => requireKey && transport === 'http',
  readings: ['keys'],
  routes: {
    path: '/admin/v1',
    token: ({ adminToken }) => adminToken,
    open: async (services, opened) => (await import('./seat/admin.ts')).openAdmin(services, opened),
  },
  open: async (services) => (await import('./seat/open.ts')).openKeys(services),
};
