import { isDigit, SLASH, SPACE, TAB } from '../../text/chars.ts';
import type { Templates } from '../../text/templates.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';
import type { Inner, Protect } from '../kind.ts';
import { farthestNumbers, type NumberInRow } from './numbers.ts';
import { failsInTranslation } from './translated.ts';

/** Maximum number of characters read per line, and of lines with a sign. More are normal for the text. Set by hand. */
const READ_CHARS = 400;
const MOST_SIGNS = 12;

/**
 * Signs that decide what happens next, whatever program prints them: a resource that is destroyed for a change, and
 * variables that change how every program connects, loads or trusts.
 */
const SIGN =
  /# forces replacement|\b(?:must|will) be (?:replaced|destroyed)\b|^(?:declare -x |export |set(?:env)? )?(?:[a-z]{2,8}_proxy|[A-Z]{2,8}_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL|AWS)_CA_BUNDLE|NODE_TLS_REJECT_UNAUTHORIZED|GIT_SSL_\w{1,20}|PYTHONHTTPSVERIFY|LD_PRELOAD|NODE_OPTIONS|JAVA_TOOL_OPTIONS)[= ]/;
/** Parts of the signs, for a quick check of the whole text. */
const SIGN_WORDS = [
  'forces repl',
  'be replaced',
  'be destroyed',
  '_proxy',
  '_PROXY',
  '_CERT',
  '_CA_',
  '_TLS_',
  '_SSL_',
  'HTTPSVERIFY',
  'LD_PRELOAD',
  '_OPTIONS',
];

/** Keeps lines with signs, failures in other languages, the commits that change far more files than the others, and files with an equal number. */
export function protectSigns(view: View, templates: Templates, inner: Inner, protect: Protect): void {
  const lines: number[] = [];
  if (SIGN_WORDS.some((word) => view.text.includes(word)))
    for (let i = inner.first; i < inner.end; i++)
      if (!isBlankLine(view, i) && SIGN.test(contentOf(view, i, READ_CHARS))) lines.push(i);
  if (lines.length <= MOST_SIGNS) for (const i of lines) protect(i, 'state');
  protectTranslated(view, templates, inner, protect);
  protectLargeCommits(view, inner, protect);
  protectRepeatedNumbers(view, inner, protect);
}

/** Maximum share of lines that are failures, and maximum number of failures of one shape. Set by hand. */
const MOST_FAILURES = 0.2;
const HABIT = 6;

/** Keeps failures in other languages than English, whatever the text is taken for. */
function protectTranslated(view: View, templates: Templates, { first, end }: Inner, protect: Protect): void {
  const lines: number[] = [];
  for (let i = first; i < end; i++) if (failsInTranslation(view, i)) lines.push(i);
  if (lines.length > Math.max(HABIT, (end - first) * MOST_FAILURES)) return;
  for (const i of lines) if (templates.seenBefore(i) < HABIT) protect(i, 'failure');
}

/** The last line of a commit in `git log --stat` and `--shortstat`. */
const CHANGED = /^\s?\d{1,7} files? changed\b/;
/** The first line of a commit. */
const COMMIT = /^(?:[*|\\/ ]{0,20})(?:commit )?[0-9a-f]{7,40}\b/;

function protectLargeCommits(view: View, { first, end }: Inner, protect: Protect): void {
  if (!view.text.includes(' changed')) return;
  const numbers: NumberInRow[] = [];
  for (let i = first; i < end; i++) {
    if (isBlankLine(view, i) || !CHANGED.test(contentOf(view, i, 40))) continue;
    numbers.push({ i, value: Number.parseInt(contentOf(view, i, READ_CHARS), 10) });
  }
  for (const last of farthestNumbers(numbers)) {
    protect(last, 'outlier');
    let head = last - 1;
    while (head >= first && !COMMIT.test(contentOf(view, head, READ_CHARS))) head--;
    if (head < first) continue;
    protect(head, 'outlier');
    // the subject is the first line of the message, which is indented
    for (let i = head + 1; i < last; i++) {
      if (isBlankLine(view, i) || (view.indent[i] ?? 0) < 4) continue;
      protect(i, 'outlier');
      break;
    }
  }
}

/** Minimum number of names, minimum share of lines with one, and maximum number or share of repeated ones. Set by hand. */
const LEAST_NAMES = 8;
const NAMED_SHARE = 0.5;
const MOST_REPEATED = 6;
const REPEATED_SHARE = 0.05;
/** A version of a migration or a chapter before a name; three digits, unless a `V` stands before them. */
const NUMBER_BEFORE_NAME = /^(?:[vV](\d{1,17})|(\d{3,17}))[_.-]+(?=[^\s\d])/;

/** Keeps the few files whose leading number occurs more often than the others' in the same folder. */
function protectRepeatedNumbers(view: View, { first, end }: Inner, protect: Protect): void {
  const byNumber = new Map<string, number[]>();
  let names = 0;
  let filled = 0;
  for (let i = first; i < end; i++) {
    if (isBlankLine(view, i)) continue;
    // most texts are no lists of such names: the first lines show it
    if (++filled > 2 * LEAST_NAMES && names < filled * NAMED_SHARE) return;
    const start = nameStart(view, i);
    if (!mayBeginNumber(view.codes[start] ?? 0)) continue;
    const match = NUMBER_BEFORE_NAME.exec(view.text.slice(start, Math.min(view.to[i] ?? 0, start + 40)));
    if (match === null) continue;
    names++;
    const folder = view.text.slice(Math.max(view.from[i] ?? 0, start - 120), start).replace(/^.*\s/s, '');
    const key = `${folder}${match[1] ?? match[2] ?? ''}`;
    const lines = byNumber.get(key);
    if (lines === undefined) byNumber.set(key, [i]);
    else lines.push(i);
  }
  if (names < Math.max(LEAST_NAMES, filled * NAMED_SHARE)) return;
  const groups = [...byNumber.values()];
  // scripts for both directions share a number
  const usual = groups.map(({ length }) => length).sort((a, b) => a - b)[groups.length >> 1] ?? 1;
  const repeated = groups.filter(({ length }) => length > usual).flat();
  if (repeated.length <= Math.max(MOST_REPEATED, names * REPEATED_SHARE)) for (const i of repeated) protect(i, 'state');
}

function mayBeginNumber(code: number): boolean {
  return isDigit(code) || code === 86 || code === 118;
}

/** Offset of the last name on a line: behind its last slash or blank. */
function nameStart({ codes, firstNonBlank, to }: View, i: number): number {
  const start = firstNonBlank[i] ?? 0;
  for (let at = (to[i] ?? 0) - 2; at >= start; at--) {
    const code = codes[at];
    if (code === SLASH || code === SPACE || code === TAB) return at + 1;
  }
  return start;
}
