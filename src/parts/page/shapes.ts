import type { ConversationFacets, ListedConversation } from '../../core/ports/browse.ts';
import type { ColdStashReport } from '../../core/ports/cold-report.ts';
import type { ContextReport } from '../../core/ports/context-report.ts';
import type { BilledFigures, LedgerTurn, TokenCounts } from '../../core/ports/ledger.ts';
import type { PrefixBreakReport } from '../../core/ports/prefix-breaks.ts';
import type { ListedPrune, StoreAges } from '../../core/ports/records.ts';
import type { SeenSegment } from '../../core/ports/segments.ts';
import type { ShelfTotals } from '../../core/ports/shelf.ts';
import type { DeclaredTool } from '../../core/shelf/by-name.ts';
import type { Annotation, RenderOptions } from '../../engine/text/render.ts';

/** Compactions and pauses, what was put aside at cold moments, and what providers reported about changed history. */
export interface ContextsShown extends ContextReport, ColdStashReport {
  readonly prefix_breaks: PrefixBreakReport;
  /** `MCP_PRUNER_BOLDNESS`. */
  readonly boldness: string;
}

/** A text of a request that was new in it, and what became of it. */
export interface TextShown extends Omit<CutShown, 'pruneId'> {
  /** `null` where it was left whole. */
  readonly pruneId: string | null;
  /** Why it was left whole, `''` for a cut. */
  readonly whole: string;
  readonly tool: string;
}

/** A request to a model as the events describe it. */
export interface RequestShown {
  /** The number of its first event. */
  readonly seq: number;
  readonly atMs: number;
  readonly conversation: string;
  readonly requestId: string;
  /** `''` where the body was not read, like `client`. */
  readonly project: string;
  readonly client: string;
  readonly wire: string;
  readonly model: string;
  readonly messages: number;
  /** Newly cut tokens: in the provider's count once it is billed, estimated before. */
  readonly tokensSaved: number;
  readonly status: number;
  readonly end: string;
  readonly totalMs: number;
  /** `null`: not billed yet, or without a price. */
  readonly dollars: number | null;
  readonly shadow: boolean;
  readonly upstreamError: string | null;
  readonly fallbacks: readonly string[];
  readonly texts: readonly TextShown[];
  /** Number of texts that are not listed. */
  readonly more: number;
  /** Number of new results that were left whole, by code. */
  readonly leftWhole: Readonly<Record<string, number>>;
}

/** Something else that happened. */
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
  /** It stands under another one of its session, which is older: a sub-agent, or what follows a compaction. */
  readonly side: boolean;
  /** How often the client compacted it. */
  readonly compactions: number;
  /** The conversation whose summary it begins with; `null` where it begins by itself. */
  readonly continues: string | null;
  /** A text of it that a search found; `null` without one. */
  readonly hit: HitShown | null;
}

/** A tool result that a search found. */
export interface HitShown {
  readonly pruneId: string;
  readonly lines: string;
  /** Path, or tool. */
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

export interface ShelfShown extends Pick<ShelfTotals, 'wouldSave' | 'saved'> {
  /** The dearest first, at most 200. */
  readonly tools: readonly DeclaredTool[];
  readonly more: number;
}

/** A figure by day for each project, model or tool. */
export interface LinesShown {
  readonly days: readonly string[];
  /** The largest total first. */
  readonly lines: readonly { readonly key: string; readonly values: readonly number[]; readonly total: number }[];
}

/** One request on the timeline of a conversation. */
export type TurnShown = Pick<
  LedgerTurn,
  'requestId' | 'atMs' | 'model' | 'regretTokens' | keyof TokenCounts | Exclude<keyof BilledFigures, 'missDollars'>
>;

export interface TimelineShown {
  /** The length in tokens at which its client compacts; `null` without requests. */
  readonly threshold: { readonly tokens: number; readonly learned: boolean } | null;
  /** In their order. */
  readonly turns: readonly TurnShown[];
  /** Whether there are earlier requests than the ones shown. */
  readonly earlier: boolean;
  readonly compactions: readonly {
    readonly atMs: number;
    readonly tokens: number;
    readonly client: string;
    /** Whether it ends this conversation; otherwise it begins it. */
    readonly ends: boolean;
    /** The other conversation, or `''`. */
    readonly other: string;
  }[];
  readonly recoveries: readonly { readonly atMs: number; readonly pruneId: string; readonly lines: number }[];
}

/** The cuts of a text in numbers. */
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
  /** The request that brought it first. */
  readonly turn: number;
  readonly role: string;
  readonly type: string;
  readonly effect: string;
  /** Time of the request of its turn, in epoch milliseconds. */
  readonly atMs: number;
  readonly directed: 'pin' | 'stash' | 'aside' | 'delete' | null;
  /** The client no longer sends it. */
  readonly left: boolean;
  readonly cuts: readonly CutShown[];
  /** The prune id of its whole text while it is stashed; `null` if there is none. */
  readonly stash: string | null;
}

export interface ConversationPage {
  readonly conversation: ConversationShown;
  /** In the order of the conversation. */
  readonly texts: readonly TextOfTurn[];
  /** Where the page before this one ends; `null` when this is the first. */
  readonly earlier: { readonly ordinal: number; readonly row: number } | null;
}

/** One line of an original. */
export interface LineShown {
  readonly n: number;
  readonly text: string;
  /** Index of the cut that took it, or -1 for a line that stayed. */
  readonly cut: number;
  /** Characters beyond those in `text`. */
  readonly more: number;
}

export type CutOfText = Omit<Annotation, 'full'>;

/** How cuts are written into what is sent, as the settings have it now. */
export interface SentAs extends Required<RenderOptions> {
  /** `prune`, `shadow` (decided, but sent whole) or `off`. */
  readonly mode: string;
}

/** A part of an original, and which of its lines the model received. */
export interface TextPart extends CutShown, Omit<PruneShown, 'row'> {
  readonly goal: string;
  readonly cuts: readonly CutOfText[];
  readonly sent: SentAs;
  readonly part: readonly LineShown[];
  /** The first line of the next part, or `null` at the end. */
  readonly next: number | null;
}

export interface WhyShown {
  /** The limit of the explanation, or `''`. */
  readonly caveat: string;
  /** By which boldness step it was judged, in words; `''` if no step was ever taken. */
  readonly boldness: string;
  readonly terms: readonly string[];
  readonly threshold: number | null;
  readonly regions: readonly {
    readonly startLine: number;
    readonly endLine: number;
    readonly kept: boolean;
    readonly words: string;
  }[];
}

/** One setting as the page shows it; a secret that is set reads `***`. */
export interface SettingShown {
  readonly key: string;
  readonly env: string;
  readonly value: unknown;
  readonly isDefault: boolean;
  /** The source of the value, in words. */
  readonly from: string;
  readonly doc: string;
  readonly unit: string;
}

export interface RequestPage {
  /** The newest first. */
  readonly requests: readonly RequestShown[];
  /** Where the next page begins, as `before`; `null` at the end. */
  readonly next: number | null;
}

export interface StoreShown extends StoreAges {
  readonly prunes: number;
  readonly snapshots: number;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly ttlS: number;
  readonly place: string;
  readonly nowMs: number;
}

export type PruneShown = ListedPrune;

export interface PrunePage {
  readonly prunes: readonly PruneShown[];
  /** Where the next page begins, as `before`; `null` at the end. */
  readonly next: number | null;
}

/** The result of a search in tool results. */
export interface RecallShown {
  readonly hits: readonly {
    readonly prune_id: string;
    readonly lines: string;
    readonly tool: string | null;
    readonly path: string | null;
    readonly when: string;
    readonly superseded?: true;
    readonly text: string;
  }[];
  readonly more: boolean;
  readonly hint?: string;
}
