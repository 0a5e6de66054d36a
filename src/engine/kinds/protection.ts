import { isBlankLine, type View } from '../text/view.ts';

/** Names of the protection rules; a line's rule is an index into this list, 0 for none. */
export const RULES = [
  '',
  'no-prune',
  'frame',
  'header',
  'import',
  'declaration',
  'failure',
  'news',
  'named',
  'trace',
  'summary',
  'edge',
  'heading',
  'fence',
  'diff-header',
  'file-spread',
  'structure',
  'id',
  'recovered',
  'state',
  'outlier',
] as const;

export type Rule = (typeof RULES)[number];

/** Sets a line's rule, unless it already has one. */
export type Protect = (line: number, rule: Rule) => void;

/** The part of a text between a client's header and footer, as line indices `[first, end)`. */
export interface Inner {
  readonly first: number;
  readonly end: number;
}

/** Protects the first or the last non-blank line. */
export function protectEdge(view: View, { first, end }: Inner, last: boolean, protect: Protect): void {
  let i = last ? end - 1 : first;
  while (i >= first && i < end && isBlankLine(view, i)) i += last ? -1 : 1;
  if (i >= first && i < end) protect(i, 'edge');
}
