import type { Part } from '../../app/part.ts';

/** What a subscription has left, and who used it. It only observes answers. */
export const limits: Part = {
  name: 'limits',
  isOn: (_settings, transport) => transport === 'http',
  readings: ['limits'],
  open: async (services) => (await import('./open.ts')).openLimits(services),
};
