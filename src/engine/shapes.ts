import { CRY, cryOf } from './cries.ts';
import { contentOf, isBlankLine, isUnnumbered, type View } from './view.ts';

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
  readonly cries?: number;
  /** A string that may stand in it. */
  readonly holds?: string;
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
    holds: ' [',
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
    holds: ' = ',
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

const ALL = (1 << RULES.length) - 1;
const BY_FIRST = chances(({ first }) => first);
const BY_INK = chances(({ ink }) => ink);
const BY_LAST = chances(({ last }) => last);
const BY_CRY = Uint16Array.from({ length: 256 }, (_, cries) => bitsOf((rule) => ((rule.cries ?? 0) & cries) !== 0));
const HOLDING = RULES.flatMap((rule) =>
  rule.holds === undefined ? [] : { needle: rule.holds, bits: bitsOf((r) => r === rule) },
);

function bitsOf(wanted: (rule: Rule) => boolean): number {
  return RULES.reduce((bits, rule, k) => (wanted(rule) ? bits | (1 << k) : bits), 0);
}

function heldBy(line: string): number {
  let bits = 0;
  for (const held of HOLDING) if (line.includes(held.needle)) bits |= held.bits;
  return bits;
}

export const SAMPLE_LINES = 240;
const READ_CHARS = 240;

/** Looks at lines all over a text, the first ones more closely. */
export function countShapes(view: View): Shapes {
  const s: Shapes = {
    lines: 0,
    diff: 0,
    hunks: 0,
    grep: 0,
    listing: 0,
    json: 0,
    table: 0,
    aligned: 0,
    testing: 0,
    compiler: 0,
    stamped: 0,
    failing: 0,
    frames: 0,
    headings: 0,
    codeLike: 0,
    prose: 0,
    rst: 0,
  };
  const columns = new Columns();
  const step = Math.max(1, Math.floor(view.n / SAMPLE_LINES));
  for (let i = 0; i < view.n; i += i < SAMPLE_LINES / 3 ? 1 : step) {
    if (isBlankLine(view, i) || isUnnumbered(view, i)) continue;
    const from = view.from[i] ?? 0;
    const whole = view.to[i] ?? 0;
    const to = Math.min(whole, from + READ_CHARS);
    s.lines++;
    const line = contentOf(view, i, READ_CHARS);
    const ink = view.ink[i] ?? 0;
    const chance = chanceOf(view.codes, from, ink, whole);
    const cries = cryOf(view.codes, from, to);
    for (let may = chance | (BY_CRY[cries] ?? 0) | heldBy(line); may !== 0; may &= may - 1) {
      const rule = RULES[31 - Math.clz32(may & -may)];
      if (rule?.pattern.test(line)) s[rule.shape]++;
    }
    columns.add(view.codes, from, to);
    if (isProse(view.codes, from, to)) s.prose++;
  }
  s.table = columns.equal();
  s.aligned = columns.aligned();
  return s;
}

function chanceOf(codes: Uint16Array, from: number, ink: number, to: number): number {
  if (to - from > READ_CHARS) return ALL;
  const first = codes[from] ?? 0;
  const inked = codes[ink] ?? 0;
  const last = codes[to - 1] ?? 0;
  if (first > 127 || inked > 127 || last > 127) return ALL;
  return (BY_FIRST[first] ?? 0) | (BY_INK[inked] ?? 0) | (BY_LAST[last] ?? 0);
}

const TAB = 9;
const SPACE = 32;
const COMMA = 44;
const BAR = 124;

/** Counts how many lines agree in their number of separators, or in where their columns stand. */
class Columns {
  readonly #counts = [new Map<number, number>(), new Map<number, number>(), new Map<number, number>()] as const;
  readonly #places = new Map<number, number>();

  add(codes: Uint16Array, from: number, to: number): void {
    let tabs = 0;
    let commas = 0;
    let bars = 0;
    let blanks = 0;
    const indented = codes[from] === SPACE;
    for (let i = from; i < to; i++) {
      const code = codes[i] ?? 0;
      if (code === SPACE) {
        blanks++;
        continue;
      }
      // columns, two blanks or more apart (`column -t`, `kubectl get`)
      if (blanks > 1 && !indented) count(this.#places, i - from);
      blanks = 0;
      if (code === TAB) tabs++;
      else if (code === COMMA) commas++;
      else if (code === BAR) bars++;
    }
    if (tabs > 1) count(this.#counts[0], tabs);
    if (commas > 1) count(this.#counts[1], commas);
    if (bars > 1) count(this.#counts[2], bars);
  }

  /** The most lines that have the same number of tabs, commas or bars, and more than one. */
  equal(): number {
    return Math.max(0, ...this.#counts.flatMap((map) => [...map.values()]));
  }

  /** Lines that agree on the second best place of a column: one place alone is a list with explanations. */
  aligned(): number {
    return [...this.#places.values()].sort((a, b) => b - a)[1] ?? 0;
  }
}

function count(map: Map<number, number>, key: number): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

/** A line of several words in lower case, few signs, no leading mark. */
function isProse(codes: Uint16Array, from: number, to: number): boolean {
  let words = 0;
  let letters = 0;
  let others = 0;
  let run = 0;
  for (let i = from; i <= to; i++) {
    const code = i < to ? (codes[i] ?? 0) | 32 : SPACE;
    if ((code >= 97 && code <= 122) || code > 127) {
      letters++;
      run++;
      continue;
    }
    if (run > 1) words++;
    run = 0;
    if (code !== SPACE) others++;
  }
  return words >= 5 && letters > others * 6;
}
