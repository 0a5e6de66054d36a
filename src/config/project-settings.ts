import { z } from 'zod';
import type { ProjectSettings } from '../core/ports/project-settings.ts';

const days = z.int().min(1).max(3_650);
const globs = z.array(z.string().trim().min(1).max(500)).max(200);

/** Schema of per-project settings, shared by the command line and by readers of the store. */
export const projectSettings = z.strictObject({
  mode: z.enum(['prune', 'shadow', 'off']).optional(),
  holdout: z.number().min(0).max(1).optional(),
  neverPruneTools: globs.optional(),
  neverPrunePaths: globs.optional(),
  language: z.enum(['fr', 'en']).optional(),
  dollarsPerMonth: z.number().positive().optional(),
  seams: z.enum(['off', 'measure', 'on']).optional(),
  coldStash: z.enum(['on', 'measure', 'off']).optional(),
  textDays: days.optional(),
  // sums by key must be kept for a month, because monthly budgets are based on them
  ledgerDays: days.min(31).optional(),
  auditDays: days.optional(),
});

/** Fields of earlier versions, which are dropped. */
const RETIRED = new Set(['shelf', 'boldness']);
/** Values of earlier versions, and what they mean now. */
const REPLACED: Readonly<Record<string, string>> = { provider: 'on' };

/** Parses the settings of a row; `null` if this version does not understand them. */
export function projectSettingsIn(json: string): ProjectSettings | null {
  try {
    const fields = Object.entries(JSON.parse(json) as object).filter(([name]) => !RETIRED.has(name));
    const known = fields.map(([name, value]) => [name, name === 'coldStash' ? (REPLACED[value] ?? value) : value]);
    return projectSettings.safeParse(Object.fromEntries(known)).data ?? null;
  } catch {
    return null; // the caller reports it
  }
}
