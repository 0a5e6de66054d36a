import type { Analysis, Structure } from './kind.ts';
import { RULES } from './protection.ts';

/** Keeps the opening and closing lines of fenced blocks; their contents are cut or kept as a whole. */
export function keepFences({ keep, units }: Pick<Analysis, 'keep' | 'units'>): Structure {
  const fence = RULES.indexOf('fence');
  const out = { keep: keep.slice(), glued: units.glued.slice() };
  const keepLine = (i: number): void => {
    if (out.keep[i] === 0) out.keep[i] = fence;
  };
  for (let i = 1; i < keep.length; i++) {
    if (units.glued[i] !== 1) continue;
    keepLine(i - 1);
    out.glued[i] = 0;
    while (i + 1 < keep.length && units.glued[i + 1] === 1) out.glued[i++] = 0;
    keepLine(i);
    out.glued[i] = 0;
  }
  return out;
}
