import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';
import { describe, expect, it } from 'vitest';
import { splitLines } from '../src/engine/text/lines.ts';
import { parseMarker } from '../src/engine/text/marker.ts';
import { longJsonFields } from '../src/wires/json/value.ts';
import { editedFiles } from '../src/wires/transcript/call-targets.ts';
import { findFileBlocks, ownWords } from '../src/wires/transcript/file-blocks.ts';
import { findFrame } from '../src/wires/transcript/text-results.ts';
import { callFacts, callsRecovery } from '../src/wires/transcript/tools.ts';
import { cpuMs } from './helpers/cpu-time.ts';
import { sourceFiles } from './helpers/project-files.ts';

interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

const patterns = sourceFiles(/\.ts$/).flatMap(({ file, text }) => patternsIn(file, parseAst(text, { lang: 'ts' })));
/** The engine looks at so many characters of a line at most; within them a square is nothing. */
const MOST_OF_A_LINE = 400;
const inEngine = ({ file }: Pattern): boolean => file.startsWith('src/engine');

function patternsIn(file: string, node: unknown): Pattern[] {
  if (node === null || typeof node !== 'object') return [];
  const regex = 'regex' in node && 'type' in node && node.type === 'Literal' ? node.regex : null;
  if (regex !== null && typeof regex === 'object' && 'pattern' in regex && 'flags' in regex) {
    return [{ file, source: String(regex.pattern), flags: String(regex.flags) }];
  }
  return Object.values(node).flatMap((child) => patternsIn(file, child));
}

const FILLERS = [
  ' ',
  'a',
  'A',
  '0',
  '\t',
  '(',
  '{',
  '=',
  ':',
  '.',
  '-',
  '_',
  '/',
  '|',
  '"',
  '`',
  '< ',
  'a ',
  'A.',
  '( ',
];

const TURNS = ['( ', '()', '=(', ' =', 'a ', ': ', '. '] as const;

/** Long runs that begin like what a pattern looks for and then do not end as it wants. */
function hostileTo({ source }: Pattern, length: number): string[] {
  const words = source.match(/[A-Za-z]{2,}|[#@<"'`|[({=*+:-]/g) ?? [];
  const starts = ['', ...new Set(words)].slice(0, 6);
  const half = length >> 1;
  const turning = starts.flatMap((start) =>
    TURNS.map((two) =>
      `${start} ${two.charAt(0).repeat(half)}${two.charAt(1).repeat(half)}`.slice(0, length).concat(';'),
    ),
  );
  const running = starts.flatMap((start) =>
    FILLERS.flatMap((filler) => {
      const run = `${start} ${start}${filler.repeat(length)}`.slice(0, length);
      const times = Math.ceil(length / (filler.length + start.length));
      const mixed = `${start} ${(filler + start).repeat(times)}`.slice(0, length);
      return [`${run}\0`, `${mixed};\n`];
    }),
  );
  return [...running, ...turning];
}

/** Milliseconds of the fastest of a few tries: others use the machine too. */
function fastest(work: () => void, goodEnough: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 4 && best > goodEnough; i++) {
    const began = cpuMs();
    work();
    best = Math.min(best, cpuMs() - began);
  }
  return best;
}

function slowOnes(of: readonly Pattern[], length: number, mostMs: number): string[] {
  return of.flatMap((pattern) => {
    const regex = new RegExp(pattern.source, pattern.flags);
    for (const text of hostileTo(pattern, length)) {
      const ms = fastest(() => text.replace(regex, ''), mostMs);
      if (ms > mostMs) return [`${pattern.file}: ${pattern.source} takes ${Math.round(ms)} ms on ${text.slice(0, 40)}`];
    }
    return [];
  });
}

describe('every regular expression of the product', () => {
  it('is included in this test', () => {
    expect(patterns.length).toBeGreaterThan(100);
  });

  it('backtracks linearly at worst, or never exponentially in the engine, where lines are short', () => {
    const unsafe = patterns.flatMap((pattern) => {
      const { reports } = analyse({ source: pattern.source, flags: pattern.flags });
      const bad = reports.filter(({ exponential }) => exponential || !inEngine(pattern));
      return bad.map(({ type }) => `${pattern.file}: ${pattern.source} (${type})`);
    });
    expect(unsafe).toEqual([]);
  });

  it('finishes almost instantly on a hostile line of the maximum length that the engine reads', () => {
    expect(slowOnes(patterns.filter(inEngine), MOST_OF_A_LINE, 15)).toEqual([]);
  });

  it('finishes quickly on long hostile runs outside the engine', () => {
    const outside = patterns.filter((pattern) => !inEngine(pattern));
    expect(slowOnes(outside, 6_000, 22)).toEqual([]);
  });
});

describe('readers of untrusted texts and arguments', () => {
  const call = (args: string) => ({ name: 'bash', args });
  const readers: Record<string, (text: string) => unknown> = {
    'files in a message': (text) => ownWords(text, findFileBlocks(text)),
    'frames of clients': (text) => findFrame(splitLines(text)),
    'JSON in strings': (text) => longJsonFields(text, 100),
    'arguments of a call': (text) => callFacts(call(JSON.stringify({ command: text, path: text }))),
    'files that a call changes': (text) => editedFiles(call(JSON.stringify({ command: text }))),
    'calls of recover_text': (text) => callsRecovery(call(text)),
    markers: (text) => parseMarker(`⟦PRUNÉ: prune_id=${text}`),
  };
  const units = [
    ' ',
    'a',
    '<',
    '<file ',
    '<file>\n',
    '```\n',
    '`',
    '[',
    '"',
    '\\',
    '{"a":',
    '> ',
    'sed -i ',
    '*** Add File: ',
  ];
  units.push('Content of ', '\n', '\r', '--- ', 'a/', 'tee ', '"name" : "', '</', '<a\n', '0-', '<system-reminder>');

  it.each(Object.entries(readers))('read %s in time that grows linearly with the text', (_name, read) => {
    for (const unit of units) {
      const text = unit.repeat(Math.ceil(200_000 / unit.length));
      expect(
        fastest(() => read(text), 400),
        JSON.stringify(unit),
      ).toBeLessThan(400);
    }
  });
});
