import type { Part } from 'mcp-pruner/app/guest.ts';

/** Access keys, and per-key views. Contains only facts known without loading the code. */
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
