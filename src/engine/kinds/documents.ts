import { contentOf, isBlankLine, type View } from '../text/view.ts';
import type { Hints, PruneInput } from '../types.ts';
import type { Shapes } from './kind.ts';
import { nameByShape } from './recognise.ts';
import { samplesOf } from './shapes.ts';

/** Minimum shares of lines by which a text is a document of some form. Set by hand, like all below. */
const MIN_PROSE = 0.5;
const MIN_CODE = 0.4;
const MIN_SETTINGS = 0.75;
/** Paragraphs are separated by blank lines; one-line messages, such as a list of commits, are not. */
const MIN_BLANK = 0.04;
const MIN_HEADINGS = 2;
/** Maximum shares of lines that only running programs print: stamps, results of tests, compiler messages, traces. */
const MAX_PRINTED = 0.05;
const MAX_PRINTED_IN_CODE = 0.005;
/** Maximum share of lines that mention a failure; documents and code mention them too. */
const MAX_FAILING = 0.25;
/** Maximum shares of lines with a path and line number, of headers of changes, of changed lines, and of file names. */
const MAX_PLACES = 0.02;
const MAX_HUNKS = 0.01;
const MAX_CHANGED = 0.1;
const MAX_NAMES = 0.3;

/**
 * The hints of a text. A document counts as a file that was read, whatever printed it, unless the caller requested the
 * cut.
 */
export function hintsFor({ hints, asked }: Pick<PruneInput, 'hints' | 'asked'>, view: View): Hints | undefined {
  if (hints === undefined || asked === true || hints.question === true) return hints;
  if (hints.origin === 'read' || hints.origin === 'listing' || !isDocument(view, hints)) return hints;
  return { ...hints, origin: 'read' };
}

/**
 * Whether a text is a document: prose, Markdown, source code or settings. Only the text decides. A page that `curl`,
 * `ssh`, `docker exec` or a documentation server returns is read like one that `cat` shows.
 */
function isDocument(view: View, hints: Hints): boolean {
  const seen = samplesOf(view).shapes();
  if (nameByShape(seen, hints) !== undefined) return false;
  const printed = seen.stamped + seen.testing + seen.compiler + seen.frames;
  if (printed > seen.lines * MAX_PRINTED || seen.failing > seen.lines * MAX_FAILING) return false;
  if (seen.grep > seen.lines * MAX_PLACES || seen.hunks > seen.lines * MAX_HUNKS) return false;
  if (isMarkup(seen) || isProse(view, seen)) return true;
  // the hits of a search are single lines of code or settings
  if (hints.origin === 'search' || printed > seen.lines * MAX_PRINTED_IN_CODE) return false;
  return isSource(view, seen) || areSettings(view, seen);
}

/** Matches a line of a change without headers, as some programs shorten them. */
const CHANGED = /^\s{0,4}(?:\+|-(?:\s{2}|[^\s-]))/;

function isSource(view: View, { codeLike, lines }: Shapes): boolean {
  if (codeLike <= lines * MIN_CODE) return false;
  const changed = samplesOf(view)
    .lines()
    .filter((i) => CHANGED.test(contentOf(view, i, READ_CHARS))).length;
  return changed < lines * MAX_CHANGED;
}

function isMarkup({ headings, rst, listing, lines }: Shapes): boolean {
  return (headings >= MIN_HEADINGS || rst >= MIN_HEADINGS) && listing < lines * MAX_NAMES;
}

function isProse(view: View, { prose, lines }: Shapes): boolean {
  return prose > lines * MIN_PROSE && blankLines(view) > view.n * MIN_BLANK;
}

function blankLines(view: View): number {
  let blank = 0;
  for (let i = 0; i < view.n; i++) if (isBlankLine(view, i)) blank++;
  return blank;
}

/** Matches a line of YAML, TOML, an INI file or an environment file, with its key. */
const SETTING = /^\s*(?:- )?["']?([A-Za-z_][\w./-]{0,60})["']?(?::(?=\s|$)|\s?=)/;
/** Matches other lines of such files: list items, sections, comments, brackets. */
const OF_SETTINGS = /^\s*(?:- \S|\[{1,2}[\w."' -]{1,80}\]{1,2}$|[#;]|[\]})],?$|["'][^"']{0,200}["'],?$|---$)/;
/** Maximum share of one key: a log repeats its few (`INFO:`), settings have many. */
const MAX_ONE_KEY = 0.4;
const MIN_KEYS = 4;
const READ_CHARS = 120;

function areSettings(view: View, { lines }: Shapes): boolean {
  const keys = new Map<string, number>();
  let settings = 0;
  let looked = 0;
  for (const i of samplesOf(view).lines()) {
    const line = contentOf(view, i, READ_CHARS);
    looked++;
    const key = SETTING.exec(line)?.[1];
    if (key !== undefined) keys.set(key, (keys.get(key) ?? 0) + 1);
    if (key !== undefined || OF_SETTINGS.test(line)) settings++;
  }
  if (lines === 0 || settings < looked * MIN_SETTINGS || keys.size < MIN_KEYS) return false;
  return Math.max(...keys.values()) <= looked * MAX_ONE_KEY;
}
