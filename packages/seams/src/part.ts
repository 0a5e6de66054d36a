import type { Part } from 'mcp-pruner/app/guest.ts';

/** Finished work that requests repeat, and compactions by the provider where one task ends and the next begins. */
export const seams: Part = {
  name: 'seams',
  isOn: (_settings, transport) => transport === 'http',
  readings: ['seams'],
  open: async (services) => (await import('./open.ts')).openSeams(services),
};
