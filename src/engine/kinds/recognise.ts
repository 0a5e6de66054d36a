import { contentOf, isUnnumbered, type View } from '../text/view.ts';
import type { Hints, SourceType } from '../types.ts';
import { KINDS, kindNamed, nameByPath } from './all.ts';
import { languageName } from './code/languages.ts';
import { isGreppedLog } from './grepped-log.ts';
import type { Kind, Shapes } from './kind.ts';
import { isLog, logName } from './log/log.ts';
import { samplesOf } from './shapes.ts';
import { isTable } from './table.ts';

interface Recognised {
  readonly kind: Kind;
  readonly name: string;
  /** Source type of the contract: given by the caller, or derived from the kind. */
  readonly sourceType: SourceType;
}

/** Recognises the kind of a text from the caller's hints and from the text. */
export function recogniseKind(view: View, sourceType: SourceType | undefined, hints: Hints | undefined): Recognised {
  const name = nameOf(view, sourceType, hints);
  const kind = kindNamed(name);
  return { kind, name, sourceType: sourceType ?? kind.sourceType };
}

function nameOf(view: View, sourceType: SourceType | undefined, hints: Hints | undefined): string {
  const listed = nameByFrame(view, hints);
  if (listed !== undefined) return listed;
  const byPath = nameByPath(hints?.path);
  const isRead = byPath !== undefined && hints?.origin === 'read';
  if (isRead && byPath !== 'markdown') return byPath;
  if (hints?.origin === 'listing') return 'listing';
  const name = nameBySamples(view, (seen) => {
    if (isRead) return isTable(seen) ? 'table' : byPath;
    return (
      nameByShape(seen, hints) ??
      (hints?.origin === 'search' ? 'grep' : (byPath ?? nameByType(seen, sourceType, hints)))
    );
  });
  if (name === 'grep' && isGreppedLog(view)) return 'grepped-log';
  return name === SOME_LANGUAGE ? languageName(view) : name;
}

/** Placeholder name for code whose language is not determined yet. */
const SOME_LANGUAGE = '';
/** Confidence of a kind that a few lines identify; the maximum that `looksLike` returns. */
const CERTAIN = 1;
const FEW_LINES = 3; // heuristic: two lines of anything look like a table

/** Name of the kind with the highest confidence; `undefined` if there is none, or if the kind has several names. */
export function nameByShape(seen: Shapes, hints: Hints | undefined): string | undefined {
  let best: Kind | undefined;
  let surest = seen.lines < FEW_LINES ? CERTAIN - Number.EPSILON : 0;
  for (const kind of KINDS) {
    const sure = kind.looksLike(seen, hints);
    if (sure <= surest) continue;
    best = kind;
    surest = sure;
  }
  const [name, ...others] = Object.keys(best?.names ?? {});
  return others.length === 0 ? name : undefined;
}

/** Minimum shares of lines by which a text is recognised without other evidence. Set by hand. */
const MIN_PROSE = 0.3;
const MIN_CODE = 0.25;
const MIN_CODE_OF_A_PROGRAM = 0.6;

function nameByType(seen: Shapes, sourceType: SourceType | undefined, hints: Hints | undefined): string {
  if (sourceType === 'logs') return logName(seen);
  if (sourceType === 'docs') return docsName(seen);
  if (sourceType === 'code') return SOME_LANGUAGE;
  if (isLog(seen)) return logName(seen);
  if (seen.prose > seen.lines * MIN_PROSE && seen.prose > seen.codeLike) return docsName(seen);
  if (hints?.origin === 'command' && seen.codeLike < seen.lines * MIN_CODE_OF_A_PROGRAM) return logName(seen);
  return seen.codeLike > seen.lines * MIN_CODE ? SOME_LANGUAGE : docsName(seen);
}

function docsName(seen: Shapes): string {
  if (seen.headings > 0) return 'markdown';
  if (seen.rst > 1) return 'rst';
  return isTable(seen) ? 'table' : 'text';
}

/** Number of interleaved samples. If the first two agree, the others are not examined. Set by hand. */
const SAMPLES = 5;
/** Shorter texts are examined as a whole, because a fifth would be too few lines. Set by hand. */
const MIN_LINES_FOR_SAMPLES = 160;

/** The name on which two samples agree, otherwise the name derived from all lines. */
function nameBySamples(view: View, nameOf: (seen: Shapes) => string): string {
  const sampled = samplesOf(view);
  if (view.n >= MIN_LINES_FOR_SAMPLES) {
    const name = nameOf(sampled.shapes(0, SAMPLES));
    if (name === nameOf(sampled.shapes(1, SAMPLES))) return name;
  }
  return nameOf(sampled.shapes());
}

/** Number of leading lines in which a tool may name the listed file. Set by hand. */
const FRAME_LINES = 40;

/**
 * The kind of a numbered file listing, from the line in which the tool names the file (`[File: src/a.py (94 lines
 * total)]`, `Here's the result of running cat -n on src/a.py:`).
 */
function nameByFrame(view: View, hints: Hints | undefined): string | undefined {
  if (!view.numbered || hints?.path !== undefined) return undefined;
  for (let i = 0; i < Math.min(view.n, FRAME_LINES); i++) {
    if (!isUnnumbered(view, i)) continue;
    for (const word of contentOf(view, i).split(/[\s"'`()<>[\]:,;=]/)) {
      const name = word.includes('.') ? nameByPath(word) : undefined;
      if (name !== undefined) return name;
    }
  }
  return undefined;
}
