import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  Effect,
  SegmentStore,
  SegmentType,
  StoredConversation,
  StoredSegment,
} from 'mcp-pruner/core/ports/segments.ts';
import { addMentions, KeySet, pathKeys } from './keys.ts';
import { byPruningOrder, planOf } from './plan.ts';
import { type Candidate, type Relevance, type Roots, Sweep, type SweptSegment } from './sweep.ts';

/** Describes a segment and why it may be pruned, so that an agent can judge. */
function explain(segment: SweptSegment, relevance: Relevance): string {
  return `${nameOf(segment)}: ${reasons(segment, relevance).join('; ')}`;
}

function nameOf({ effect, tool, path, startLine, endLine }: SweptSegment): string {
  // messages have neither, and a command's file arguments do not describe its output
  const file = path === '' || effect === 'run' ? '' : ` ${path}${linesOf(startLine, endLine)}`;
  const by = tool === '' ? '' : ` by ${tool}`;
  return `${NAMES[effect]}${by}${file}`;
}

const NAMES: Readonly<Record<Effect, string>> = {
  asked: 'words of the user',
  said: 'words of the assistant',
  attached: 'attached file',
  read: 'file read',
  edit: 'answer to an edit',
  search: 'search result',
  list: 'listing',
  run: 'command output',
  other: 'result',
};

function linesOf(startLine: number, endLine: number): string {
  if (startLine === 0 && endLine === 0) return '';
  return ` lines ${Math.max(1, startLine)}-${endLine || 'end'}`;
}

function reasons(segment: SweptSegment, relevance: Relevance): string[] {
  const out: string[] = [];
  if (relevance.stale) out.push('the file was edited later, so this copy is out of date');
  if (relevance.superseded) out.push('the same was asked for again later');
  if (relevance.otherTask) out.push('belongs to another task');
  const { references, idle, age } = relevance;
  if (references === 0) out.push(`nothing referred to it in the ${idle} messages since`);
  else out.push(`last referred to ${idle} messages ago (${references} in all)`);
  if (relevance.reach > 0) out.push('recent messages lead to it');
  if (age.hours >= 1) out.push(`${Math.round(age.hours)} h old`);
  out.push(`takes up ${Math.round(segment.tokens)} tokens`);
  return out;
}

/** Input of an analysis. */
export interface AnalyzeInput {
  readonly project: string;
  /** Task whose conversations are analysed. Default: the project's active conversations. */
  readonly task?: string;
  /** Tokens that a plan must free. No plan if absent. */
  readonly target?: number;
  /** Segments to keep according to the caller, and the caller's current work. */
  readonly roots: {
    readonly ids: readonly string[];
    /** Newest texts; segments that they mention are kept. */
    readonly said: readonly string[];
    /** Path of the current file, or `''`. */
    readonly file: string;
  };
  /** Segments known to the caller that the proxy may not have seen. */
  readonly described: readonly DescribedSegment[];
}

/** A segment described by the caller. */
export interface DescribedSegment {
  readonly id: string;
  readonly type: SegmentType;
  readonly tokens: number;
  /** Epoch milliseconds, or `null`. */
  readonly createdAtMs: number | null;
  readonly path: string;
}

export interface Analysis {
  /** Candidates in pruning order, at most `MOST_LISTED`. */
  readonly candidates: readonly RatedSegment[];
  readonly total: number;
  /** Sum over all candidates. */
  readonly tokensFreed: number;
  readonly plan: { readonly segments: readonly RatedSegment[]; readonly tokensFreed: number } | null;
  /** Number of segments in the analysed conversations, and of pinned, stashed and deleted ones. */
  readonly segments: number;
  readonly pinned: number;
  readonly gone: number;
  /** No conversation belongs to the task, so the whole project was analysed. */
  readonly taskUnknown: boolean;
}

/** A candidate in the answer of `context_gc_analyze`. */
export interface RatedSegment {
  readonly id: string;
  readonly score: number;
  readonly tokens: number;
  readonly reason: string;
  readonly type: SegmentType;
  readonly ageHours: number;
}

/** Maximum number of listed candidates; longer lists do not help agents. Plans are never truncated. */
export const MOST_LISTED = 200;
/** The newest messages of a conversation are never candidates. */
export const NEWEST_MESSAGES = 6;
/** Conversations last seen longer than this before the newest one are inactive. */
const IN_USE_MS = 60 * 60 * 1000;
const PAGE = 250;
const HOUR_MS = 60 * 60 * 1000;

/** Rates all segments of a project, page by page, so that requests are served in between. Read-only. */
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
        if (segment.seenTurn < conversation.baseTurn) continue; // the client has dropped it from the history
        counts.segments++;
        if (segment.directed === 'pin') counts.pinned++;
        else if (segment.directed !== null) counts.gone++;
        const survived = conversation.turns - segment.firstTurn;
        sweep.feed(segment, { survived, hours: hoursSince(segment.createdMs, nowMs) });
      }
    }
  }
  await offerDescribed(store, input, known, roots, nowMs, offer);
  candidates.sort(byPruningOrder);
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

/** Maximum number of keys from the caller's own words. */
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

function ratedOf({ id, score, tokens, segment, relevance }: Candidate): RatedSegment {
  const ageHours = Math.round(relevance.age.hours * 100) / 100;
  return { id, score, tokens, reason: explain(segment, relevance), type: segment.type, ageHours };
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
    const page = await store.segments(conversation, { limit: PAGE, after });
    yield page;
    after = page.length === PAGE ? page.at(-1) : undefined;
    if (after) await nextTurn();
  } while (after);
}

/** Adds segments known only from the caller's description, without reference information. */
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
