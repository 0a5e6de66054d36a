import { defineConfig } from 'vitest/config';
import suite from '../vitest.config.ts';

/** Servers that are killed, flooded and raced against each other: minutes of work that `npm test` leaves out. */
export default defineConfig({ test: { ...suite.test, include: ['test/**/*.long.ts'] } });
