import type { ConversationFacets, ListedConversation } from 'mcp-pruner/core/ports/browse.ts';
import type { ColdStashReport } from 'mcp-pruner/core/ports/cold-report.ts';
import type { ContextReport } from 'mcp-pruner/core/ports/context-report.ts';
import type { BilledFigures, LedgerTurn, TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { PrefixBreakReport } from 'mcp-pruner/core/ports/prefix-breaks.ts';
import type { ListedPrune, StoreAges } from 'mcp-pruner/core/ports/records.ts';
import type { SeenSegment } from 'mcp-pruner/core/ports/segments.ts';
import type { Store } from 'mcp-pruner/core/ports.ts';
import type { Annotation, RenderOptions } from 'mcp-pruner/engine/text/render.ts';

/** Compactions and pauses, results put aside at cold moments, and changed histories reported by providers. */
export interface ContextsShown extends ContextReport, ColdStashReport {
  readonly prefix_breaks: PrefixBreakReport;
}

/** A text of a request that was new in it, and what became of it. */
export interface TextShown extends Omit<CutShown, 'pruneId'> {
  /** `null` where it was left whole. */
  readonly pruneId: string | null;
  /** Why the text was left whole; `''` for a cut. */
  readonly whole: string;
  readonly tool: string;
}

export interface RequestShown {
  /** Sequence number of its first event. */
  readonly seq: number;
  readonly atMs: number;
  readonly conversation: string;
  readonly requestId: string;
  /** Like `client`, `''` if the body was not read. */
  readonly project: string;
  readonly client: string;
  readonly wire: string;
  readonly model: string;
  readonly messages: number;
  /** Newly cut tokens: counted by the provider once billed, estimated before. */
  readonly tokensSaved: number;
  readonly status: number;
  readonly end: string;
  readonly totalMs: number;
  /** `null` if not billed yet, or without a price. */
  readonly dollars: number | null;
  readonly shadow: boolean;
  readonly upstreamError: string | null;
  readonly fallbacks: readonly string[];
  readonly texts: readonly TextShown[];
  /** Number of texts not listed. */
  readonly more: number;
  readonly leftWhole: Readonly<Record<string, number>>;
}

/** Any other event. */
export interface NoteShown {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: string;
  readonly level: string;
  readonly conversation: string;
  readonly facts: Readonly<Record<string, string | number>>;
}

export interface RequestsAndNotes {
  readonly requests: readonly RequestShown[];
  readonly notes: readonly NoteShown[];
}

export interface ConversationShown extends Omit<ListedConversation, 'baseTurn'> {
  /** The provider verifies this conversation's history, so nothing in it can be changed later. */
  readonly bound: boolean;
  /** The same for all conversations of a session of the client; `''` if the client names none. */
  readonly session: string;
  /** Listed below an older conversation of its session: a sub-agent, or a continuation after a compaction. */
  readonly side: boolean;
  readonly compactions: number;
  /** The conversation whose summary it begins with, or `null`. */
  readonly continues: string | null;
  /** A text in it found by a search; `null` without one. */
  readonly hit: HitShown | null;
}

export interface HitShown {
  readonly pruneId: string;
  readonly lines: string;
  /** Path or tool. */
  readonly of: string;
  readonly text: string;
}

export interface ConversationsShown {
  readonly conversations: readonly ConversationShown[];
  readonly more: boolean;
}

/** The values by which conversations can be filtered, and whether their first words are stored. */
export interface FacetsShown extends ConversationFacets {
  readonly titles: boolean;
}

/** A figure by day, per project, model or tool. */
export interface LinesShown {
  readonly days: readonly string[];
  /** Largest total first. */
  readonly lines: readonly { readonly key: string; readonly values: readonly number[]; readonly total: number }[];
}

export type TurnShown = Pick<
  LedgerTurn,
  | 'requestId'
  | 'atMs'
  | 'model'
  | 'regretTokens'
  | 'regretDollars'
  | keyof TokenCounts
  | Exclude<keyof BilledFigures, 'missDollars'>
>;

export interface TimelineShown {
  /** Length in tokens at which the client compacts; `null` without requests. */
  readonly threshold: { readonly tokens: number; readonly learned: boolean } | null;
  /** Requests in order. */
  readonly turns: readonly TurnShown[];
  readonly earlier: boolean;
  readonly compactions: readonly {
    readonly atMs: number;
    readonly tokens: number;
    readonly client: string;
    /** Whether the compaction ends this conversation; otherwise it starts it. */
    readonly ends: boolean;
    /** The other conversation, or `''`. */
    readonly other: string;
  }[];
  readonly recoveries: readonly { readonly atMs: number; readonly pruneId: string; readonly lines: number }[];
}

export interface CutShown {
  readonly pruneId: string;
  readonly kind: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** One text of a conversation. Its content is requested by its prune ids; a text that was never cut has none. */
export interface TextOfTurn
  extends Pick<SeenSegment, 'id' | 'ordinal' | 'tool' | 'path' | 'startLine' | 'endLine' | 'tokens' | 'lines'> {
  readonly row: number;
  /** First request that contained the text. */
  readonly turn: number;
  readonly role: string;
  readonly type: string;
  readonly effect: string;
  /** What the call asked for, such as a command; `''` if unknown. */
  readonly asked: string;
  /** Time of the request of its turn, in epoch milliseconds. */
  readonly atMs: number;
  readonly directed: 'pin' | 'stash' | 'aside' | 'delete' | null;
  /** The client no longer sends the text. */
  readonly left: boolean;
  readonly cuts: readonly CutShown[];
  /** Prune id of the whole text while it is stashed; otherwise `null`. */
  readonly stash: string | null;
}

export interface ConversationPage {
  readonly conversation: ConversationShown;
  /** Texts in conversation order. */
  readonly texts: readonly TextOfTurn[];
  /** End of the previous page; `null` if this is the first one. */
  readonly earlier: { readonly ordinal: number; readonly row: number } | null;
}

export interface LineShown {
  readonly n: number;
  readonly text: string;
  /** Index of the cut that removed the line; -1 if it was kept. */
  readonly cut: number;
  /** Number of characters beyond those in `text`. */
  readonly more: number;
}

export type CutOfText = Omit<Annotation, 'full'>;

/** How cuts are written into what is sent, as the settings have it now. */
export interface SentAs extends Required<RenderOptions> {
  /** `prune`, `shadow` (decided, but sent whole) or `off`. */
  readonly mode: string;
}

/** A part of an original, and which of its lines the model received. */
export interface TextPart extends CutShown, Omit<ListedPrune, 'row'> {
  readonly goal: string;
  readonly cuts: readonly CutOfText[];
  /** The line of our own that stood in front of the text, or `''`. */
  readonly notice: string;
  readonly sent: SentAs;
  readonly part: readonly LineShown[];
  /** First line of the next part, or `null` at the end. */
  readonly next: number | null;
}

export interface WhyShown {
  /** Limitation of the explanation, or `''`. */
  readonly caveat: string;
  readonly terms: readonly string[];
  readonly threshold: number | null;
  readonly regions: readonly {
    readonly startLine: number;
    readonly endLine: number;
    readonly kept: boolean;
    readonly words: string;
  }[];
}

/** A setting as shown on the page; secrets are masked as `***`. */
export interface SettingShown {
  readonly key: string;
  readonly env: string;
  readonly value: unknown;
  readonly isDefault: boolean;
  /** Source of the value, in words. */
  readonly from: string;
  readonly doc: string;
  readonly unit: string;
}

export interface RequestPage {
  /** Newest first. */
  readonly requests: readonly RequestShown[];
  /** Value of `before` for the next page; `null` at the end. */
  readonly next: number | null;
}

export interface StoreShown extends StoreAges, Awaited<ReturnType<Store['stats']>> {
  readonly maxBytes: number;
  readonly ttlS: number;
  readonly place: string;
  readonly nowMs: number;
}

interface PruneShown extends ListedPrune {
  /** What the call asked for, such as a path or command; `''` if unknown. */
  readonly asked: string;
}

export interface PrunePage {
  readonly prunes: readonly PruneShown[];
  /** Value of `before` for the next page; `null` at the end. */
  readonly next: number | null;
}
