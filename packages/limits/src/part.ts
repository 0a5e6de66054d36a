import type { Part } from 'mcp-pruner/app/guest.ts';

export const limits: Part = {
  name: 'limits',
  isOn: (_settings, transport) => transport === 'http',
  readings: ['limits'],
  open: async (services) => (await import('./open.ts')).openLimits(services),
};
