import { isFailed } from '../../base/failed-result.ts';
import { budgetOf } from '../../engine/choose/choice.ts';
import { hashLines, isSameLine, type LineHashes, numberOf } from '../../engine/text/line-hashes.ts';
import { REASON_CHARS } from '../../engine/text/marker.ts';
import { REASONS, type ReasonLanguage } from '../../engine/text/reasons.ts';
import type { Cut } from '../../engine/types.ts';
import { isSameFile } from '../../wires/goal/conversation.ts';
import { type FileRange, isIndexed, type ShownEntry, type ShownLines } from '../../wires/goal/shown-lines.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import { decisionOf, READ_AGAIN, REPEAT, wholeDecision } from '../decide/decision.ts';
import { keyOf } from '../hash.ts';
import type { Decision, NewDecision } from '../ports.ts';
import { textAt } from '../sent/text-place.ts';
import type { FoundText } from './found-text.ts';
import type { BodyEdit } from './prefix-memo.ts';
import type { ReadRequest } from './request.ts';

/** Minimum size of a run, in lines or in characters. Tuned with `bench -- bill`. */
const LEAST_LINES = 40;
const LEAST_CHARS = 2_000;
/** Number of lines that stay at each end of a run, and at each end of the text. */
const EDGE_LINES = 3;
/** A place that is read again within so many requests after a cut goes whole. */
const SOON_REQUESTS = 10;
/** Number of earlier places of a line that are compared, the newest first. */
const MOST_PLACES = 8;
/** Lines with fewer characters occur in any edit. */
const LEAST_EDITED_CHARS = 4;

/** Minimum number of indexed lines that a text shares with earlier ones. A run of the minimum size has ten of them. */
const LEAST_KNOWN = 2;

/** Whether a text shares enough lines with earlier ones to be compared with them. */
export function mayRepeat({ known }: ShownEntry): boolean {
  return known >= LEAST_KNOWN;
}

type DecidedRequest = Pick<ReadRequest, 'body' | 'read' | 'known' | 'found'>;

/**
 * Finds results that repeat lines of earlier ones. The decision depends on the messages up to the result and on how
 * they are sent, and is recorded like every cut.
 */
export class Repeats {
  readonly #request: DecidedRequest;
  readonly #lines: ShownLines;
  readonly #hashes = new Map<ShownEntry, LineHashes | null>();

  constructor(request: DecidedRequest) {
    this.#request = request;
    this.#lines = request.read.conversation.lines;
  }

  /**
   * Replaces recorded repeats whose copy is gone from the request, or is not sent whole any more. Their texts are sent
   * whole.
   */
  checkSent(sent: ReadonlyMap<FoundText, Decision>): ReadonlyMap<FoundText, Decision> {
    if ([...sent.values()].every(({ copies }) => copies === undefined)) return sent;
    const checked = new Map(sent);
    for (const [text, decision] of sent) {
      const { copies } = decision;
      if (copies === undefined) continue;
      const before = this.#lines
        .before({ seq: text.shown?.seq ?? Number.POSITIVE_INFINITY })
        .filter(({ ordinal }) => ordinal <= text.messageIndex);
      const isShown = (hash: string): boolean =>
        before.some((entry) => entry.hash === hash && this.#isWhole(entry, checked));
      if (copies.every(isShown)) this.#note(text, decision);
      else checked.set(text, wholeDecision(text.job, decision.key, 'copy_gone'));
    }
    return checked;
  }

  /**
   * Decides about repeats among new texts.
   *
   * @param decisions - decisions about all texts; replaced for texts that repeat others
   * @returns the new decisions
   */
  decide(texts: readonly FoundText[], decisions: Map<FoundText, Decision>): NewDecision[] {
    return texts.flatMap((text) => {
      const made = decisions.get(text);
      if (made === undefined) return [];
      const decision = this.#decideOne(text, made, decisions);
      if (decision === null) return [];
      decisions.set(text, decision);
      this.#note(text, decision);
      return decision.copies === undefined ? [] : { decision, text: text.job.text };
    });
  }

  #decideOne(text: FoundText, made: Decision, decisions: ReadonlyMap<FoundText, Decision>): Decision | null {
    const { job, shown } = text;
    if (shown === undefined || job.cutWhole !== undefined || job.hints.question === true) return null;
    if (STAYS.has(made.whole) || job.text.includes('NO_PRUNE')) return null;
    const lines = text.lines ?? hashLines(job.text, 0);
    const range = rangeOf(shown, lines);
    const again = this.#readAgain(shown, range);
    if (again === 'soon') return { ...wholeDecision(job, keyOf('read again', made.key), READ_AGAIN), kind: REPEAT };
    if (again !== null || !mayRepeat(shown)) return null;
    const edits = this.#request.read.conversation.editsOf(shown.paths).filter(({ seq }) => seq <= shown.seq);
    if (edits.at(-1)?.failed === true || this.#isError(text)) return null;
    const editedSince = ({ seq }: ShownEntry): ReadonlySet<string> =>
      new Set(edits.filter((edit) => edit.seq > seq).flatMap((edit) => edit.lines));
    const runs = this.#runsIn(shown, lines, editedSince, decisions);
    return this.#decisionFor(text, lines, runs, made);
  }

  /** Whether the same place of a file was cut as a repeat shortly before, or an earlier result already showed that. */
  #readAgain(shown: ShownEntry, range: FileRange): 'soon' | 'before' | null {
    if (shown.paths.length === 0) return null;
    const cuts: { readonly ranges: readonly FileRange[]; readonly answers: number }[] = [];
    const isAgain = ({ from, to }: FileRange, answers: number): boolean =>
      cuts.some(
        (cut) =>
          answers - cut.answers <= SOON_REQUESTS && cut.ranges.some((other) => from <= other.to && to >= other.from),
      );
    for (const entry of this.#lines.before(shown)) {
      if (!showSame(entry.paths, shown.paths)) continue;
      if (cuts.length > 0 && isAgain(rangeOf(entry, null), entry.answers)) return 'before';
      if (entry.repeats.length > 0) cuts.push({ ranges: entry.repeats, answers: entry.answers });
    }
    return isAgain(range, shown.answers) ? 'soon' : null;
  }

  #isError({ job, messageIndex, literal }: FoundText): boolean {
    const { read, body } = this.#request;
    const message = read.messages[messageIndex];
    const callId = message?.texts.find((one) => one.literal.start === literal.start)?.callId ?? '';
    return isFailed(job.text, callId, () =>
      message === undefined
        ? null
        : (JSON.parse(body.toString('utf8', message.span.start, message.span.end)) as unknown),
    );
  }

  /** The longest runs of lines that earlier texts show whole, in order. */
  #runsIn(
    shown: ShownEntry,
    lines: LineHashes,
    editedSince: (copy: ShownEntry) => ReadonlySet<string>,
    decisions: ReadonlyMap<FoundText, Decision>,
  ): Run[] {
    const runs: Run[] = [];
    const edited = new Map<ShownEntry, Uint8Array | null>();
    for (let i = 0; i < lines.count; ) {
      let longest: Run | null = null;
      const floor = runs.at(-1)?.end ?? 0;
      if (isIndexed(lines, i)) {
        for (const { entry, line } of this.#lines.placesOf(lines.hash[i] ?? 0, shown, MOST_PLACES)) {
          const copy = this.#isWhole(entry, decisions) ? this.#linesOf(entry) : null;
          if (copy === null || copy.numbering !== lines.numbering || !isSameLine(lines, i, copy, line)) continue;
          if (!edited.has(entry)) edited.set(entry, linesNear(lines, editedSince(entry)));
          const run = extend({ lines, copy, entry, line, at: i, floor, barrier: edited.get(entry) ?? null });
          if (run !== null && run.end - run.from > (longest ? longest.end - longest.from : 0)) longest = run;
        }
      }
      if (longest !== null && isLong(lines, longest)) runs.push(longest);
      i = Math.max(i + 1, longest?.end ?? 0);
    }
    return runs;
  }

  /** Whether a text is sent without any cut in its string. */
  #isWhole({ literal }: ShownEntry, decisions: ReadonlyMap<FoundText, Decision>): boolean {
    const { read, found } = this.#request;
    if (isEdited(read.editsBefore, literal)) return false;
    return found.every((text) => text.literal.start !== literal.start || (decisions.get(text)?.cuts.length ?? 0) === 0);
  }

  #linesOf(entry: ShownEntry): LineHashes | null {
    const known = this.#hashes.get(entry);
    if (known !== undefined) return known;
    const { literal, json, start, chars } = entry;
    const decoded = decodeString(this.#request.body, literal.start, literal.end);
    const placed = decoded === null ? null : textAt(decoded, { text: 0, json, start, chars });
    const lines = placed === null ? null : hashLines(placed.text, 0);
    this.#hashes.set(entry, lines);
    return lines;
  }

  #decisionFor({ job, shown }: FoundText, lines: LineHashes, runs: readonly Run[], made: Decision): Decision | null {
    if (shown === undefined || runs.length === 0) return null;
    let left = budgetOf({ n: lines.count, lines: lines.lines }, { limits: job.limits, asked: false });
    const copies = new Set<string>();
    const cuts: Cut[] = [];
    for (const { from, end, copy, entry, line } of runs) {
      const first = Math.max(from + EDGE_LINES, EDGE_LINES);
      const last = Math.min(end - EDGE_LINES, lines.count - EDGE_LINES, first + left);
      if (last - first < 1) continue;
      left -= last - first;
      const there = line + first - from;
      const shownAt = { from: fileLine(entry, copy, there), to: fileLine(entry, copy, there + last - first - 1) };
      const here = { from: fileLine(shown, lines, first), to: fileLine(shown, lines, last - 1) };
      const reason = reasonOf({ entry, shown, shownAt, here, language: job.reasonLanguage ?? 'fr' });
      cuts.push({ startLine: first + 1, endLine: last, reason, ...(cuts.length > 0 && { full: true as const }) });
      copies.add(entry.hash);
    }
    if (cuts.length === 0) return null;
    const key = keyOf(REPEAT, job.textHash, JSON.stringify(cuts));
    const plan = { sourceType: made.sourceType, kind: REPEAT, lineCount: lines.count, cuts, warnings: [] };
    const decision = decisionOf(job, key, plan);
    if (decision.cuts.length === 0 || (made.cuts.length > 0 && made.tokensAfter <= decision.tokensAfter)) return null;
    return { ...decision, copies: [...copies] };
  }

  /** Remembers which lines of its file a text lacks. */
  #note({ shown, job, lines: read }: FoundText, { kind, cuts }: Decision): void {
    if (shown === undefined || kind !== REPEAT) return;
    const lines = read ?? hashLines(job.text, 0);
    shown.repeats = cuts.map(({ startLine, endLine }) => ({
      from: fileLine(shown, lines, startLine - 1),
      to: fileLine(shown, lines, endLine - 1),
    }));
  }
}

/** Texts that stay whole for these reasons are never cut as repeats. */
const STAYS: ReadonlySet<string> = new Set(['recovered', 'carries_markers', 'timeout', 'pinned', 'exempt']);

/** Consecutive lines that an earlier text shows: `[from, end)`, and the first of them there. */
interface Run {
  readonly from: number;
  readonly end: number;
  readonly entry: ShownEntry;
  readonly copy: LineHashes;
  readonly line: number;
}

interface Seed {
  readonly lines: LineHashes;
  readonly copy: LineHashes;
  readonly entry: ShownEntry;
  /** The line in the copy, and in the new text. */
  readonly line: number;
  readonly at: number;
  /** First line that no earlier run has. */
  readonly floor: number;
  /** 1 for lines that must stay. */
  readonly barrier: Uint8Array | null;
}

function extend({ lines, copy, entry, line, at, floor, barrier }: Seed): Run | null {
  if (barrier?.[at] === 1) return null;
  let from = at;
  let first = line;
  while (from > floor && first > 0 && barrier?.[from - 1] !== 1 && isSameLine(lines, from - 1, copy, first - 1)) {
    from--;
    first--;
  }
  let end = at + 1;
  let next = line + 1;
  while (end < lines.count && next < copy.count && barrier?.[end] !== 1 && isSameLine(lines, end, copy, next)) {
    end++;
    next++;
  }
  return { from, end, entry, copy, line: first };
}

function isLong({ from, end, lines }: LineHashes, run: Run): boolean {
  if (lines.count === 0) return false;
  return run.end - run.from >= LEAST_LINES || (end[run.end - 1] ?? 0) - (from[run.from] ?? 0) >= LEAST_CHARS;
}

/** Flags the lines that edits wrote, and those around them; `null` if there are none. */
function linesNear(lines: LineHashes, edited: ReadonlySet<string>): Uint8Array | null {
  if (edited.size === 0) return null;
  const near = new Uint8Array(lines.count);
  for (let i = 0; i < lines.count; i++) {
    const content = lines.text.slice(lines.from[i], lines.end[i]).trim();
    if (content.length < LEAST_EDITED_CHARS || !edited.has(content)) continue;
    near.fill(1, Math.max(0, i - EDGE_LINES), Math.min(lines.count, i + EDGE_LINES + 1));
  }
  return near;
}

/** Whether any of the edits, which are in ascending order, changes a part of a string. */
function isEdited(edits: readonly BodyEdit[], { start, end }: ShownEntry['literal']): boolean {
  let [low, high] = [0, edits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edits[middle]?.end ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  return (edits[low]?.start ?? Number.POSITIVE_INFINITY) < end;
}

/**
 * The line of the file that a line of a result shows: its number if the tool printed one, otherwise counted from the
 * requested first line. For a result that shows no single file, the line of the result.
 */
function fileLine({ asked, paths }: ShownEntry, lines: LineHashes, line: number): number {
  const number = numberOf(lines, line);
  if (number > 0) return number;
  return (paths.length === 1 ? Math.max(1, asked.startLine) : 1) + line;
}

/** The lines of a file that a result shows. @param lines - `null` if they are not known */
function rangeOf({ asked, paths }: ShownEntry, lines: LineHashes | null): FileRange {
  const everything = { from: 1, to: Number.POSITIVE_INFINITY };
  if (paths.length !== 1) return everything;
  if (lines !== null && lines.numbering !== '') {
    const numbers = Array.from({ length: lines.count }, (_, i) => numberOf(lines, i)).filter((number) => number > 0);
    const [first = 1] = numbers;
    return { from: first, to: numbers.at(-1) ?? first };
  }
  const { startLine, endLine } = asked;
  if (startLine === 0 && endLine === 0) return everything;
  return { from: Math.max(1, startLine), to: endLine || Number.POSITIVE_INFINITY };
}

interface ReasonParts {
  readonly entry: ShownEntry;
  readonly shown: ShownEntry;
  readonly shownAt: FileRange;
  readonly here: FileRange;
  readonly language: ReasonLanguage;
}

const TOOL_CHARS = 40;

/** Names the place where the lines stand: tool, path, and the lines there; those of the new result too if they differ. */
function reasonOf({ entry, shown, shownAt, here, language }: ReasonParts): string {
  const words = REASONS[language];
  const isShifted = shownAt.from !== here.from && shown.paths.length > 0;
  const lines = `${words.lines} ${shownAt.from}-${shownAt.to}${isShifted ? ` (${words.here} ${here.from}-${here.to})` : ''}`;
  const [path = ''] = entry.paths;
  const isOther = path !== '' && !shown.paths.some((own) => isSameFile(own, path));
  const start = `${words.alreadyShown}: ${entry.tool.slice(-TOOL_CHARS)} `;
  const end = `${isOther ? ` (${words.otherFile})` : ''} ${lines}, ${words.identical}`;
  const name = path !== '' ? path : entry.command.replaceAll(/\s+/g, ' ').trim();
  return `${start}${shortName(name, REASON_CHARS - start.length - end.length)}${end}`.replaceAll(/ {2,}/g, ' ');
}

/** The end of a path or command if it is too long. */
function shortName(name: string, room: number): string {
  return name.length <= room ? name : `…${name.slice(-Math.max(1, room - 1))}`;
}

/** Whether two results show the same file. Loops, because each new result is compared with all before it. */
function showSame(paths: readonly string[], others: readonly string[]): boolean {
  for (const path of paths) for (const other of others) if (isSameFile(path, other)) return true;
  return false;
}
