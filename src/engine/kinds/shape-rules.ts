import { CRY } from '../rules/cries.ts';
import { HELD } from './line-look.ts';

/** Of the lines that were looked at, how many have which shape. */
export interface Shapes {
  lines: number;
  diff: number;
  hunks: number;
  grep: number;
  listing: number;
  json: number;
  table: number;
  aligned: number;
  testing: number;
  compiler: number;
  stamped: number;
  failing: number;
  frames: number;
  headings: number;
  codeLike: number;
  prose: number;
  rst: number;
}

/** A shape, and what a line needs for its pattern to have a chance: one of these is enough, and the pattern decides. */
interface Rule {
  readonly shape: Exclude<keyof Shapes, 'lines' | 'table' | 'aligned' | 'prose'>;
  readonly pattern: RegExp;
  /** Characters that the line may begin with. */
  readonly first?: string;
  /** Characters that it may begin with behind its indentation. */
  readonly ink?: string;
  /** Characters that it may end with. */
  readonly last?: string;
  /** Words of which one may stand in it, as `CRY` has them. */
  readonly cries?: number;
  /** What may stand in it, one of `HELD`. */
  readonly held?: number;
}

const DIGITS = '0123456789';
const CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const WORD_CHARS = `${DIGITS}${CAPITALS}_abcdefghijklmnopqrstuvwxyz`;

/** What lines are looked at for; `countShapes` says what they are where not by a pattern. */
export const RULES: readonly Rule[] = [
  { shape: 'diff', pattern: /^(?:diff --git |--- \S|\+\+\+ \S|index [0-9a-f]{7,})/, first: 'd-+i' },
  { shape: 'hunks', pattern: /^@@ -\d/, first: '@' },
  {
    shape: 'grep',
    pattern: /^(?:[\w.@~+-]*\/)?[\w.@~+/-]+[:-]\d+[:-]|^[\w.@~+-]*\/[\w.@~+/-]+:(?!\/\/)|^--$/,
    first: `${WORD_CHARS}.@~+/-`,
  },
  {
    shape: 'listing',
    pattern:
      /^[d\-lbcps][rwxsStT-]{9}[.+@]?\s|^total \d+$|^(?:\.{0,2}\/)?[\w.@+-]+(?:\/[\w.@+ -]+)+\/?$|^(?:[│|] {1,3}| {4})*[├└|`+][─-]{1,2} ?\S|^\.?\/?[\w./@+-]+:$/,
    first: `${WORD_CHARS}.@+/-`,
    ink: '|`+',
  },
  {
    shape: 'json',
    pattern:
      /^\s*(?:"(?:[^"\\]|\\.){0,200}"\s*:|[[\]{}],?$|"(?:[^"\\]|\\.){0,300}",?$|-?\d[\d.eE+-]*,?$|(?:true|false|null),?$)/,
    ink: `"[]{}-tfn${DIGITS}`,
  },
  {
    shape: 'testing',
    pattern:
      /^\s*(?:ok|not ok) \d+\b|^(?:PASS|FAIL|ok)\s|^\s*(?:✓|✔|✕|✗|✖|×|√)\s|^=== (?:RUN|PAUSE|CONT)|^\s*--- (?:PASS|FAIL|SKIP)|^test .*\.\.\. (?:ok|FAILED|ignored)|\b(?:PASSED|FAILED|SKIPPED|XFAIL|XPASS)\b|^\S+ \(\S+\) \.\.\. (?:ok|FAIL|ERROR|skipped)|^\[(?:INFO|ERROR)\] Tests run:|^TAP version/,
    first: 'PFoT=[',
    ink: 'on-',
    cries: CRY.result | CRY.dots,
  },
  {
    shape: 'compiler',
    pattern:
      /^\S+[:(]\d+[:,)]\s?(?:\d+[:)]?)?:?\s*(?:fatal )?(?:error|warning|note)\b|^(?:error|warning)(?:\[\w+\])?: |^\s+-->\s\S+:\d+|^make(?:\[\d+\])?: |: error TS\d+/,
    first: 'm',
    ink: '-',
    cries: CRY.diagnostic,
  },
  {
    shape: 'stamped',
    pattern:
      /^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|^\[?\d\d:\d\d:\d\d|^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|^\S+ \S+ \S+ \[\d\d\/[A-Z][a-z]{2}\/|^\{"(?:\w*time\w*|ts|level|msg|@timestamp)"|^(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL|npm|yarn|pip)\b/,
    first: `[{nyp${DIGITS}${CAPITALS}`,
    held: HELD.bracket,
  },
  {
    shape: 'failing',
    pattern: /\b(?:error|exception|traceback|panic|fatal|failed)\b/i,
    cries: CRY.failure | CRY.trouble,
  },
  {
    shape: 'frames',
    pattern: /^\s+at .+[(:]\S*\d|^\s*File ".*", line \d+|^\s+\d+: 0x|^goroutine \d+ |^Caused by: |^Traceback \(/,
    ink: `aFgCT${DIGITS}`,
  },
  { shape: 'headings', pattern: /^#{1,6} \S|^```/, first: '#`' },
  { shape: 'rst', pattern: /^(?:={4,}|-{4,}|~{4,}|\^{4,})$|^\.\. \w/, first: '=-~^.' },
  {
    shape: 'codeLike',
    pattern:
      /[;{}]$|^\s*(?:def|class|import|from|return|if|for|while|func|fn|let|const|var|public|private|static|use|package|#include|end|elif|else|try|except)\b|^\s*(?:\/\/|\/\*|\*\s)|\w\(.*\)\s*[:{]?$|^\s*[\w.]+ = /,
    ink: 'dcifrwlvpsuet#/*',
    last: ';{}):',
    held: HELD.equals,
  },
];

/** Which of `RULES`, as bits, have a chance by a character of the line. What is not ASCII may be anything. */
function chances(charsOf: (rule: Rule) => string | undefined): Uint16Array {
  const table = new Uint16Array(128);
  RULES.forEach((rule, k) => {
    for (const char of charsOf(rule) ?? '') table[char.charCodeAt(0)] = (table[char.charCodeAt(0)] ?? 0) | (1 << k);
  });
  return table;
}

/** All of `RULES`. */
export const ALL = (1 << RULES.length) - 1;
/** Those that a line may fit by its first character, its first that is no blank, its last, the words it cries. */
export const BY_FIRST = chances(({ first }) => first);
export const BY_INK = chances(({ ink }) => ink);
export const BY_LAST = chances(({ last }) => last);
export const BY_CRY = Uint16Array.from({ length: 256 }, (_, cries) =>
  bitsOf((rule) => ((rule.cries ?? 0) & cries) !== 0),
);
export const BY_HELD = Uint16Array.from({ length: 4 }, (_, held) => bitsOf((rule) => ((rule.held ?? 0) & held) !== 0));

/** The bit of a shape in those masks. */
export function bitOf(shape: Rule['shape']): number {
  return bitsOf((rule) => rule.shape === shape);
}

function bitsOf(wanted: (rule: Rule) => boolean): number {
  return RULES.reduce((bits, rule, k) => (wanted(rule) ? bits | (1 << k) : bits), 0);
}
