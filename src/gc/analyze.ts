import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SegmentStore, SegmentType, StoredConversation, StoredSegment } from '../core/ports/segments.ts';
import { explain } from './explain.ts';
import { addMentions, KeySet, pathKeys } from './keys.ts';
import { goesFirst, planOf } from './plan.ts';
import { type Candidate, type Roots, Sweep, type SweptSegment } from './sweep.ts';

/** What is to be looked at. */
export interface AnalyzeInput {
  readonly project: string;
  /** Looks at the conversations that the task takes part in. Absent: at those of the project that are in use. */
  readonly task?: string;
  /** Tokens to be freed by a plan. Absent: no plan. */
  readonly target?: number;
  /** What the caller says must stay, and what it is working on. */
  readonly roots: {
    readonly ids: readonly string[];
    /** What was said last; what it names stays. */
    readonly said: readonly string[];
    /** Path of the file that is being worked on, or `''`. */
    readonly file: string;
  };
  /** Segments that the caller knows of and the proxy may not have seen. */
  readonly described: readonly DescribedSegment[];
}

/** A segment as its caller describes it. */
export interface DescribedSegment {
  readonly id: string;
  readonly type: SegmentType;
  readonly tokens: number;
  /** Epoch milliseconds, or `null`. */
  readonly createdAtMs: number | null;
  readonly path: string;
}

export interface Analysis {
  /** Those that go first, at most `MOST_LISTED`, best first. */
  readonly candidates: readonly RatedSegment[];
  readonly total: number;
  /** By all candidates. */
  readonly tokensFreed: number;
  readonly plan: { readonly segments: readonly RatedSegment[]; readonly tokensFreed: number } | null;
  /** Segments in the conversations looked at, and how many of them are pinned, stashed or deleted. */
  readonly segments: number;
  readonly pinned: number;
  readonly gone: number;
  /** No conversation has the task; the project was looked at instead. */
  readonly taskUnknown: boolean;
}

/** A candidate as `context_gc_analyze` names it. */
export interface RatedSegment {
  readonly id: string;
  readonly score: number;
  readonly tokens: number;
  readonly reason: string;
  readonly type: SegmentType;
  readonly ageHours: number;
}

/** More candidates than this help nobody; the plan is never cut short. */
export const MOST_LISTED = 200;
/** The newest messages of a conversation are never candidates. */
export const NEWEST_MESSAGES = 6;
/** Conversations seen so long before the newest one are no longer in use. */
const IN_USE_MS = 60 * 60 * 1000;
const PAGE = 250;
const HOUR_MS = 60 * 60 * 1000;

/** Rates all segments of a project, a page at a time so that requests get their turn in between. Changes nothing. */
export async function analyze(store: SegmentStore, input: AnalyzeInput, nowMs: number): Promise<Analysis> {
  const { conversations, taskUnknown } = await conversationsFor(store, input);
  const candidates: Candidate[] = [];
  const counts = { segments: 0, pinned: 0, gone: 0 };
  const offer = (candidate: Candidate): void => {
    candidates.push(candidate);
  };
  const roots = rootsOf(input, taskUnknown);
  const known = new Set<string>();
  const described = new Set(input.described.map(({ id }) => id));
  for (const conversation of conversations) {
    const sweep = new Sweep(roots, conversation.messages, offer);
    for await (const page of pagesOf(store, conversation)) {
      for (const segment of page) {
        if (described.has(segment.id)) known.add(segment.id);
        if (segment.seenTurn < conversation.baseTurn) continue; // the client dropped it
        counts.segments++;
        if (segment.directed === 'pin') counts.pinned++;
        else if (segment.directed !== null) counts.gone++;
        const survived = conversation.turns - segment.firstTurn;
        sweep.feed(segment, { survived, hours: hoursSince(segment.createdMs, nowMs) });
      }
    }
  }
  await offerDescribed(store, input, known, roots, nowMs, offer);
  candidates.sort(goesFirst);
  const plan = input.target === undefined ? null : planOf(candidates, input.target);
  return {
    candidates: candidates.slice(0, MOST_LISTED).map(ratedOf),
    total: candidates.length,
    tokensFreed: candidates.reduce((sum, { tokens }) => sum + tokens, 0),
    plan: plan && { tokensFreed: plan.tokens, segments: plan.chosen.map(ratedOf) },
    ...counts,
    taskUnknown,
  };
}

/** Keys that the caller's own words may add. */
const MOST_SAID = 512;
const SAID_CHARS = 16_384;

function rootsOf({ roots, task }: AnalyzeInput, taskUnknown: boolean): Roots {
  const mentions = new KeySet(MOST_SAID);
  for (const text of roots.said) addMentions(text, mentions, SAID_CHARS);
  return {
    newest: NEWEST_MESSAGES,
    ids: new Set(roots.ids),
    mentions: mentions.toArray(),
    file: roots.file,
    task: (!taskUnknown && task) || '',
  };
}

function hoursSince(createdMs: number, nowMs: number): number {
  return Math.max(0, (nowMs - createdMs) / HOUR_MS);
}

function ratedOf({ id, score, tokens, segment, standing }: Candidate): RatedSegment {
  const ageHours = Math.round(standing.age.hours * 100) / 100;
  return { id, score, tokens, reason: explain(segment, standing), type: segment.type, ageHours };
}

async function conversationsFor(
  store: SegmentStore,
  { project, task }: AnalyzeInput,
): Promise<{ conversations: readonly StoredConversation[]; taskUnknown: boolean }> {
  const ofTask = task === undefined ? [] : await store.conversations(project, task);
  if (ofTask.length > 0) return { conversations: ofTask, taskUnknown: false };
  const all = await store.conversations(project);
  const newest = all[0]?.seenMs ?? 0;
  const conversations = all.filter(({ seenMs }) => newest - seenMs <= IN_USE_MS);
  return { conversations, taskUnknown: task !== undefined && all.length > 0 };
}

async function* pagesOf(
  store: SegmentStore,
  conversation: StoredConversation,
): AsyncGenerator<readonly StoredSegment[]> {
  let after: StoredSegment | undefined;
  do {
    const page = await store.segments(conversation, { limit: PAGE, ...(after && { after }) });
    yield page;
    after = page.length === PAGE ? page.at(-1) : undefined;
    if (after) await nextTurn();
  } while (after);
}

/** What only the caller knows of counts too, though nothing is known of what refers to it. */
async function offerDescribed(
  store: SegmentStore,
  { project, described }: AnalyzeInput,
  known: ReadonlySet<string>,
  roots: Roots,
  nowMs: number,
  offer: (candidate: Candidate) => void,
): Promise<void> {
  const unknown = described.filter(({ id }) => !known.has(id));
  const stored = await store.findSegments(
    project,
    unknown.map(({ id }) => id),
  );
  const sweep = new Sweep({ ...roots, newest: 0, task: '' }, unknown.length, offer);
  for (const { id, type, tokens, createdAtMs, path } of unknown) {
    if (stored.has(id)) continue;
    const facts: SweptSegment = {
      id,
      ordinal: 0,
      role: 'tool',
      type,
      effect: 'other',
      tokens,
      lines: 1,
      tool: '',
      path,
      startLine: 0,
      endLine: 0,
      callKey: 0,
      about: Uint32Array.from(path === '' ? [] : pathKeys(path)),
      mentions: new Uint32Array(),
      edited: new Uint32Array(),
      directed: null,
      task: '',
    };
    sweep.feed(facts, { survived: 0, hours: createdAtMs === null ? 0 : hoursSince(createdAtMs, nowMs) });
  }
}
