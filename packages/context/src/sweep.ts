import type { DirectiveAction, SegmentFacts, SegmentType } from 'mcp-pruner/core/ports/segments.ts';
import { formatMarker } from 'mcp-pruner/engine/text/marker.ts';
import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import { pathKey } from './keys.ts';
import type { Rated } from './plan.ts';
import { ReferenceTable } from './reference-table.ts';

/** A segment that may be pruned, and why. */
export interface Candidate extends Rated {
  readonly segment: SweptSegment;
  readonly relevance: Relevance;
}

export interface SweptSegment extends SegmentFacts {
  readonly directed: DirectiveAction | null;
  readonly task: string;
}

/** Age of a segment. */
export interface Age {
  /** Number of requests in its conversation since the segment's first. */
  readonly survived: number;
  /** Hours since it was first seen; 0 if time is ignored. */
  readonly hours: number;
}

/** Segments to keep regardless of score, besides pinned ones. */
export interface Roots {
  /** Number of newest messages to keep. */
  readonly newest: number;
  /** Segments named by the caller. */
  readonly ids: ReadonlySet<string>;
  /** Keys mentioned in the caller's own words. */
  readonly mentions: Uint32Array;
  /** The current file, or `''`. */
  readonly file: string;
  /** The current task, or `''`. */
  readonly task: string;
}

/** Facts about a segment from later messages. */
export interface Relevance {
  readonly stale: boolean;
  readonly superseded: boolean;
  readonly references: number;
  /** Messages since the last reference to it, or since it was first seen. */
  readonly idle: number;
  /** Reach from the roots, 0..1. */
  readonly reach: number;
  readonly otherTask: boolean;
  readonly age: Age;
}

/** Weight of a segment's type: higher is pruned sooner. */
const TYPE_WEIGHT: Readonly<Record<SegmentType, number>> = {
  log: 1,
  code: 0.9,
  note: 0.8,
  message: 0.4,
  decision: 0.2,
  summary: 0.15,
};
/** Number of survived requests after which a segment belongs to the old generation. */
const OLD_AFTER = 3;
/** Weight of each fact in the estimate that a segment is no longer needed. */
const ADDS = {
  always: 0.15,
  /** Upper bound, approached by a segment without references for many times `IDLE_MESSAGES`. */
  idle: 0.5,
  /** For a segment without references; half of it with one reference, a third with two. */
  unreferenced: 0.2,
  /** From `FULL_HOURS` on; proportionally less before. */
  hours: 0.1,
  old: 0.05,
} as const;
const IDLE_MESSAGES = 20;
const FULL_HOURS = 24;
/** Factor for segments of the young generation. */
const YOUNG = 0.7;
/** Share subtracted for segments directly reachable from the roots. */
const REACHED = 0.6;
/**
 * Minimum estimates for superseded segments, and for segments made stale by an edit; a tenth of the estimate from other
 * facts is added.
 */
const SUPERSEDED = 0.85;
const STALE = 0.9;
/** Factor for the remaining uncertainty about segments of other tasks. */
const OTHER_TASK = 0.6;
/** A marker with a reason of typical length. */
const MARKER = { pruneId: 'prn_000000000000', startLine: 1, reason: 'mis de côté' };
const MARKER_TOKENS = [1, 10, 100, 1_000, 10_000, 100_000].map((endLine) =>
  estimateTokens(formatMarker({ ...MARKER, endLine })),
);

/** Number of opening messages whose user words are never candidates. */
const OPENING_MESSAGES = 2;
/** Maximum number of remembered reads per file, newest first. */
const MAX_READS = 50;

interface Read {
  readonly ordinal: number;
  readonly from: number;
  readonly to: number;
}

/** The lines of a file that a segment shows. */
export function readLines({
  startLine,
  endLine,
}: Pick<SegmentFacts, 'startLine' | 'endLine'>): Pick<Read, 'from' | 'to'> {
  return { from: Math.max(1, startLine), to: endLine || Number.POSITIVE_INFINITY };
}

/**
 * Marks and sweeps one conversation in a single pass from the newest message to the oldest, so that all references to a
 * segment are seen before it. Pass each segment once, newest first. The opening words of a conversation are never
 * candidates.
 */
export class Sweep {
  readonly #roots: Roots;
  readonly #messages: number;
  readonly #onCandidate: (candidate: Candidate) => void;
  readonly #references = new ReferenceTable();
  readonly #edited = new Set<number>();
  /** Index of the newest message with a result, per call. */
  readonly #calls = new Map<number, number>();
  readonly #reads = new Map<number, Read[]>();
  readonly #file: number;
  /** The oldest user words seen so far. At the end of the pass these state the topic, and are never candidates. */
  #opening: Candidate[] = [];

  /** @param messages - number of messages in the conversation */
  constructor(roots: Roots, messages: number, onCandidate: (candidate: Candidate) => void) {
    this.#roots = roots;
    this.#messages = messages;
    this.#onCandidate = onCandidate;
    this.#file = roots.file === '' ? 0 : pathKey(roots.file);
    for (const key of roots.mentions) this.#references.add(key, messages - 1, 1);
  }

  feed(segment: SweptSegment, age: Age): void {
    const relevance = this.#relevance(segment, age);
    const root = this.#isRoot(segment, relevance);
    const visible = segment.directed === null || segment.directed === 'pin';
    if (visible && !root) this.#rate(segment, relevance);
    this.#note(segment, visible ? (root ? 1 : relevance.reach / 2) : 0, visible);
  }

  #rate(segment: SweptSegment, relevance: Relevance): void {
    const candidate = candidateOf(segment, relevance);
    if (segment.effect !== 'asked') {
      this.#give(candidate);
      return;
    }
    const opening = segment.ordinal + OPENING_MESSAGES - 1;
    for (const held of this.#opening) if (held.segment.ordinal > opening) this.#give(held);
    this.#opening = [...this.#opening.filter((held) => held.segment.ordinal <= opening), candidate];
  }

  #give(candidate: Candidate): void {
    if (candidate.tokens > 0) this.#onCandidate(candidate);
  }

  #isRoot(segment: SweptSegment, { stale, superseded }: Relevance): boolean {
    const { newest, ids, task } = this.#roots;
    if (segment.directed === 'pin' || ids.has(segment.id)) return true;
    if (segment.ordinal >= this.#messages - newest) return true;
    if (task !== '' && segment.task === task && segment.effect === 'asked') return true;
    if (stale || superseded || segment.path === '') return false;
    if (this.#file !== 0 && segment.about[0] === this.#file) return true;
    return this.#references.reach(this.#references.find(segment.about[0] ?? 0)) >= 1;
  }

  #relevance(segment: SweptSegment, age: Age): Relevance {
    const { ordinal, about, effect, path, callKey } = segment;
    const { count: references, ordinal: newest, reach } = this.#references.sum(about);
    const file = path === '' ? 0 : (about[0] ?? 0);
    const isFile = effect === 'read' || effect === 'attached';
    const stale = isFile && file !== 0 && this.#edited.has(file);
    const repeated = callKey !== 0 && effect !== 'edit' && (this.#calls.get(callKey) ?? -1) > ordinal;
    const superseded = repeated || (isFile && this.#readAgain(file, segment));
    const { task } = this.#roots;
    const otherTask = task !== '' && segment.task !== task;
    const last = Math.max(ordinal, newest);
    return { stale, superseded, references, reach, idle: this.#messages - 1 - last, otherTask, age };
  }

  /** Whether a later read covers all lines of this one. */
  #readAgain(file: number, segment: SweptSegment): boolean {
    const { from, to } = readLines(segment);
    return (this.#reads.get(file) ?? []).some(
      (read) => read.ordinal > segment.ordinal && read.from <= from && read.to >= to,
    );
  }

  #note(segment: SweptSegment, reach: number, visible: boolean): void {
    const { ordinal, about, mentions, edited, effect, callKey, path } = segment;
    for (let i = 0; i < edited.length; i++) this.#edited.add(edited[i] ?? 0);
    if (!visible) return;
    if (callKey !== 0 && !this.#calls.has(callKey)) this.#calls.set(callKey, ordinal);
    if (path !== '' && (effect === 'read' || effect === 'attached')) {
      const file = about[0] ?? 0;
      const reads = this.#reads.get(file) ?? [];
      if (reads.length === 0) this.#reads.set(file, reads);
      if (reads.length < MAX_READS) reads.push({ ordinal, ...readLines(segment) });
    }
    this.#references.addAll(mentions, ordinal, reach);
  }
}

/** Tokens freed by pruning a segment, after subtracting its marker. */
export function freedBy({ tokens, lines }: Pick<SegmentFacts, 'tokens' | 'lines'>): number {
  const digits = Math.min(MARKER_TOKENS.length, String(Math.max(1, lines)).length);
  return tokens - (MARKER_TOKENS[digits - 1] ?? 0);
}

function candidateOf(segment: SweptSegment, relevance: Relevance): Candidate {
  const freed = freedBy(segment);
  return {
    id: segment.id,
    score: Math.round(unneededProbability(segment, relevance) * Math.max(0, freed / segment.tokens) * 10_000) / 10_000,
    tokens: freed,
    segment,
    relevance,
  };
}

/** Estimated probability that the segment is no longer needed, 0..1. */
function unneededProbability(segment: SweptSegment, relevance: Relevance): number {
  const { references, idle, reach, stale, superseded, otherTask, age } = relevance;
  const old = age.survived >= OLD_AFTER;
  let sure = ADDS.always + ADDS.idle * (1 - Math.exp(-idle / IDLE_MESSAGES)) + ADDS.unreferenced / (1 + references);
  sure += ADDS.hours * Math.min(1, age.hours / FULL_HOURS) + (old ? ADDS.old : 0);
  sure *= TYPE_WEIGHT[segment.type] * (1 - REACHED * reach) * (old ? 1 : YOUNG);
  if (superseded) sure = Math.max(sure, SUPERSEDED + sure / 10);
  if (stale) sure = Math.max(sure, STALE + sure / 10);
  return otherTask ? 1 - (1 - sure) * OTHER_TASK : sure;
}
