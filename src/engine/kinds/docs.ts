import { measureProse, rankByMeasures } from '../rank/prose.ts';
import { DOCS_WEIGHTS } from '../rank/weights.ts';
import { Matcher } from '../rules/matcher.ts';
import { contentOf, isBlankLine, UnitBuilder, type Units, type View } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { isTildeUnderline, protectHeadings } from './headings.ts';
import { type Analysis, always, type Kind, protectEdge, READ_SIZE, RULES, type Structure } from './kind.ts';

export const docs: Kind = {
  family: 'docs',
  sourceType: 'docs',
  names: { text: 'txt adoc tex org', markdown: 'md mdx markdown', rst: 'rst' },
  shapes: [
    { name: 'headings', pattern: /^#{1,6} \S|^```/ },
    { name: 'rst', pattern: /^(?:={4,}|-{4,}|~{4,}|\^{4,})$|^\.\. \w/ },
  ],
  mentionsNames: true,
  looksLike: () => 0,
  units: sections,
  protect(text, protect) {
    if (text.sourceType !== 'docs') return protectByContract(text, protect);
    protectHeadings(text, protect, true);
    protectEdge(text.view, text.inner, false, protect);
  },
  rows: (name) => (name === 'text' ? 'all' : 'bars'),
  ranksByAllWords: true,
  rank: (reading) => rankByMeasures(docs.measure?.(reading) ?? [], reading.view.n),
  measure: (reading) => measureProse(reading, DOCS_WEIGHTS),
  // documents and goals rarely share words, so only clearly off-topic lines are cut
  boldness: {
    atCeiling: { ...always(0.65), command: 1.3, unknown: 1.3 },
    readSize: READ_SIZE,
    mild: 0.22,
    deep: 0.27,
  },
  keepStructure: keepFences,
};

const MARK = /^\s*(```+|~~~+)/;
const MARKS = new Matcher([
  { name: 'fence', pattern: MARK },
  { name: 'heading', pattern: /^#{1,6}\s/ },
  { name: 'underline', pattern: /^(?:={3,}|-{4,}|~{4,}|\^{4,})$/ },
]);
const FENCE = MARKS.bitsOf('fence');
const HEADING = MARKS.bitsOf('heading');
const UNDERLINE = MARKS.bitsOf('underline');
/** Number of leading characters searched for a fence, heading or ruler. Set by hand. */
const READ_CHARS = 200;
/** In sections with more lines, each paragraph is a separate block. Set by hand. */
const LONG_SECTION = 10;

/** Divides a document into sections by heading, and long sections into paragraphs. Fenced blocks stay together. */
function sections(view: View): Units {
  const b = new UnitBuilder(view.n);
  let current = b.open(-1);
  let size = 0;
  let fence = '';
  const matchBits = new Uint8Array(view.n + 1);
  for (let i = 0; i < view.n; i++) if (!isBlankLine(view, i)) matchBits[i] = MARKS.matches(view, i, READ_CHARS);
  for (let i = 0; i < view.n; i++) {
    const marks = ((matchBits[i] ?? 0) & FENCE) !== 0 && (fence !== '' || !isTildeUnderline(view, i));
    const mark = marks ? (MARK.exec(contentOf(view, i, READ_CHARS))?.[1] ?? '') : '';
    if (fence !== '') {
      b.glued[i] = 1;
      b.unit[i] = current;
      if (mark.startsWith(fence) && contentOf(view, i, READ_CHARS).trim() === mark) fence = '';
      continue;
    }
    const blank = isBlankLine(view, i);
    const heading = !blank && (((matchBits[i] ?? 0) & HEADING) !== 0 || ((matchBits[i + 1] ?? 0) & UNDERLINE) !== 0);
    if (heading) b.head[i] = 1;
    if (size > 0 && (heading || (blank && size >= LONG_SECTION))) {
      current = b.open(-1);
      size = 0;
    }
    b.unit[i] = current;
    size++;
    fence = mark;
  }
  return b.done();
}

/** Keeps the opening and closing lines of fenced blocks; their contents are cut or kept as a whole. */
function keepFences({ keep, units }: Pick<Analysis, 'keep' | 'units'>): Structure {
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
