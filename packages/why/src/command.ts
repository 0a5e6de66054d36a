import {
  type Command,
  configOption,
  flag,
  type Io,
  type Paint,
  painter,
  printable,
  printableLine,
  textOption,
  UsageError,
  valued,
} from 'mcp-pruner/cli/command.ts';
import { checkWithin, namedLines } from 'mcp-pruner/cli/line-ranges.ts';
import { findOriginal, type Original, withStore } from 'mcp-pruner/cli/open-store.ts';
import { clipped, wrap } from 'mcp-pruner/cli/table.ts';
import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import type { Decision } from 'mcp-pruner/core/ports.ts';
import { type Lines, lineAt, splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { reasonInEnglish } from 'mcp-pruner/engine/text/reasons.ts';
import type { Cut, LineRange } from 'mcp-pruner/engine/types.ts';
import type { Why, WhyRegion } from './why.ts';
import { caveat, inWords } from './words.ts';

/** Number of kept lines shown before and after a cut. */
const CONTEXT = 3;

/** Prints the cut lines with their numbers and the reason, between surrounding kept lines. */
function writeCuts(lines: Lines, cuts: readonly Cut[], io: Io, paint: Paint): void {
  const width = String(lines.count).length;
  const show = (line: number, sign: string): string =>
    clipped(`${sign}${String(line).padStart(width)}  ${printable(lineAt(lines, line).replace(/\r$/, ''))}`, io.columns);
  const showKept = (first: number, last: number): void => {
    for (let line = first; line <= last; line++) io.out(`${paint('dim', show(line, ' '))}\n`);
  };

  let shown = 0; // the last line that was written
  cuts.forEach((cut, i) => {
    const count = cut.endLine - cut.startLine + 1;
    showKept(Math.max(shown + 1, cut.startLine - CONTEXT), cut.startLine - 1);
    const head = `@@ ${cut.startLine}-${cut.endLine} (${count}) ${printableLine(reasonInEnglish(cut.reason))}`;
    io.out(`${paint('cyan', wrap(head, io.columns, 3))}\n`);
    for (let line = cut.startLine; line <= cut.endLine; line++) io.out(`${paint('red', show(line, '-'))}\n`);
    const next = cuts[i + 1]?.startLine ?? lines.count + 1;
    shown = Math.min(cut.endLine + CONTEXT, next - 1);
    showKept(cut.endLine + 1, shown);
  });
}

export const why: Command = {
  usage: 'why <prune_id|marker> [--lines [10-40]] [--json] | why --latest | --conversation <id> [--json]',
  about:
    'Says which rule or score kept or cut each region of a text, and against which goal. It explains the decision that is\n' +
    'stored; if this version would decide otherwise, or another backend was involved, it says so and shows the recorded facts.\n\n' +
    'For a conversation, lists what was cut and why the other tool results were left whole.',
  options: {
    ...configOption,
    lines: valued(
      '[ranges]',
      'the lines that were cut; with ranges, such as 10-40 or 3,10-40: only the regions that hold these lines',
      /^[\d,\s-]+$/,
    ),
    latest: flag('the conversation of the newest request'),
    conversation: valued('<id>', 'a conversation, by the beginning of its id or by words of its title'),
    json: flag('print JSON'),
  },
  arguments: { min: 0, max: 1 },

  async run(call, io) {
    const ofConversation = call.values.latest === true || textOption(call, 'conversation') !== undefined;
    if (ofConversation === call.positionals.length > 0)
      throw new UsageError('why needs a prune id, a marker, --latest or --conversation <id>, and only one of them');
    if (ofConversation) return (await import('./conversation.ts')).explainConversation(call, io);
    const { pruneId, ranges } = namedLines(call);
    const original = await withStore(call, io, (store) => findOriginal(store, pruneId));
    if (textOption(call, 'lines') === '' && call.values.json !== true) {
      const paint = painter(io);
      writeHeader(original, io, paint);
      writeCuts(splitLines(original.text), original.prune.decision.cuts, io, paint);
      return 0;
    }
    const { explainDecision } = await import('./why.ts');
    if (ranges !== null) checkWithin(ranges, original.prune.decision.lines);
    const found = explainDecision(original.prune.decision, original.text);
    const regions = ranges === null ? found.regions : found.regions.filter((region) => touches(region, ranges));
    if (call.values.json === true) io.out(`${JSON.stringify(asJson(original, { ...found, regions }), null, 2)}\n`);
    else write(original, { ...found, regions }, io);
    return 0;
  },
};

function touches({ startLine, endLine }: LineRange, ranges: readonly LineRange[]): boolean {
  return ranges.some((range) => startLine <= range.endLine && range.startLine <= endLine);
}

function write(original: Original, found: Why, io: Io): void {
  const paint = painter(io);
  const { decision } = original.prune;
  writeHeader(original, io, paint);
  for (const line of preface(found, decision)) io.out(`${wrap(printableLine(line), io.columns, INDENT)}\n`);
  if (found.regions.length === 0) {
    io.out('no region has these lines\n');
    return;
  }
  const lines = splitLines(original.text);
  const width = Math.max(...found.regions.map((region) => rangeOf(region).length));
  io.out('\n');
  for (const region of found.regions) writeRegion(region, { found, decision, lines, width }, io, paint);
}

function preface(found: Why, { basis, goal, whole, lines, cuts }: Decision): string[] {
  const { certainty, terms, threshold, budget, cutsToday } = found;
  const ranked = certainty === 'ranked';
  const limits = basis?.limits;
  return [
    goal === '' && certainty !== 'asked' ? 'no goal: ranked by information alone' : '',
    ranked && goal !== '' ? `words of the goal that the text has: ${listed(terms)}` : '',
    limits && budget !== null
      ? `limits: at most ${budget} of ${lines} lines may go (max_prune_ratio ${limits.maxPruneRatio}, min_keep_lines ${limits.minKeepLines})`
      : '',
    ranked && threshold !== null && cuts.length > 0
      ? `a region is cut if its worth is below ${threshold.toFixed(2)}; 1.00 is the average worth of a token of the text${basis?.hints.origin === 'read' ? '; for a file that was read, the smaller the file, the lower this threshold' : ''}`
      : '',
    ranked && whole !== '' ? `left whole: ${leftWholeWords(whole)}` : '',
    caveat(certainty, whole),
    certainty === 'other_engine' ? `this version would cut: ${listed(cutsToday.map(rangeOf))}` : '',
  ].filter((line) => line !== '');
}

const MOST_LISTED = 20;

function listed(words: readonly string[]): string {
  if (words.length === 0) return 'none';
  const more = words.length - MOST_LISTED;
  return `${words.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function rangeOf({ startLine, endLine }: LineRange): string {
  return startLine === endLine ? String(startLine) : `${startLine}-${endLine}`;
}

const EXCERPT = 60;
const INDENT = 2;

function writeRegion(
  region: WhyRegion,
  { found, decision, lines, width }: { found: Why; decision: Decision; lines: Lines; width: number },
  io: Io,
  paint: Paint,
): void {
  const fate = region.kept ? '  kept  ' : '  cut   ';
  const head = `${rangeOf(region).padStart(width)}${fate}${printableLine(inWords(region, found, decision.kind))}`;
  const first = lineAt(lines, region.startLine)
    .slice(0, 10 * EXCERPT)
    .trim();
  const excerpt = `${' '.repeat(width + fate.length)}${printable(first).replaceAll(/\s/g, ' ').slice(0, EXCERPT)}`;
  const gutter = width + fate.length;
  io.out(`${paint(region.kept ? 'green' : 'red', wrap(head, io.columns, gutter))}\n`);
  if (first !== '')
    io.out(`${paint('dim', excerpt.slice(0, Math.max(gutter + 20, io.columns ?? EXCERPT + gutter)))}\n`);
}

/** The explanation as JSON. Line numbers are 1-based and inclusive. */
function asJson(
  { prune: { decision } }: Original,
  { certainty, terms, threshold, budget, cutsToday, regions }: Why,
): object {
  const { pruneId, goal, tool, sourceType, kind, whole, lines, keptLines, basis } = decision;
  return {
    prune_id: pruneId,
    goal,
    tool,
    source_type: sourceType,
    kind,
    left_whole_because: whole === '' ? null : whole,
    original_lines: lines,
    kept_lines: keptLines,
    limits: basis ? { max_prune_ratio: basis.limits.maxPruneRatio, min_keep_lines: basis.limits.minKeepLines } : null,
    explained_by: certainty,
    goal_words: terms,
    worth_threshold: threshold === null ? null : rounded(threshold),
    most_lines_to_prune: budget,
    would_cut_today: cutsToday.map(({ startLine, endLine }) => ({ start_line: startLine, end_line: endLine })),
    regions: regions.map(({ startLine, endLine, kept, because, rule, reason, score }) => ({
      start_line: startLine,
      end_line: endLine,
      kept,
      because,
      rule: rule === '' ? null : rule,
      reason: reason === '' ? null : reason,
      worth: score === null ? null : rounded(score.worth),
      tokens_est: score === null ? null : Math.round(score.tokens),
      goal_words: score?.terms ?? [],
      measures: (score?.measures ?? []).map(({ name, effect }) => ({ name, effect: rounded(effect) })),
    })),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function writeHeader({ prune }: Original, io: Io, paint: Paint): void {
  const { decision, createdAtMs, expiresAtMs } = prune;
  io.out(`${paint('bold', printable(decision.pruneId ?? ''))}  ${origin(decision)}\n`);
  const { lines, keptLines, tokensBefore, tokensAfter, cuts, goal } = decision;
  const say = (text: string): void => io.out(`${wrap(text, io.columns, 2)}\n`);
  say(
    `${lines} lines -> ${keptLines}, about ${tokensBefore} tokens -> ${tokensAfter}; ` +
      `${cuts.length > 0 ? 'cut' : 'left whole'} ${isoMinute(createdAtMs)}, kept until ${isoMinute(expiresAtMs)} at least`,
  );
  if (goal !== '') say(`goal: ${printable(goal).replaceAll('\n', ' ')}`);
}

function origin({ kind, tool, sourceType }: Decision): string {
  return printableLine([kind === '' ? sourceType : kind, ...(tool === '' ? [] : [`from ${tool}`])].join(' '));
}

function isoMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}
