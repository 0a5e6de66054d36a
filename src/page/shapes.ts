/** What the server answers and the page draws; nothing here knows of either. */
/** A text of a request that was new in it, and what became of it. */
export interface TextShown {
  /** `null` where it was left whole. */
  readonly pruneId: string | null;
  /** Why it was left whole, `''` for a cut. */
  readonly whole: string;
  readonly tool: string;
  readonly kind: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A request to a model as the events describe it. */
export interface RequestShown {
  /** Of its first event. */
  readonly seq: number;
  readonly atMs: number;
  readonly conversation: string;
  readonly requestId: string;
  readonly wire: string;
  readonly model: string;
  readonly messages: number;
  readonly tokensSaved: number;
  readonly status: number;
  readonly end: string;
  readonly totalMs: number;
  readonly shadow: boolean;
  readonly upstreamError: string | null;
  readonly fallbacks: readonly string[];
  readonly texts: readonly TextShown[];
  /** Texts beyond those that are listed. */
  readonly more: number;
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

export interface Happened {
  readonly requests: readonly RequestShown[];
  readonly notes: readonly NoteShown[];
}

export interface ConversationShown {
  readonly row: number;
  readonly project: string;
  /** The provider verifies this conversation's history, so nothing in it can be changed later. */
  readonly bound: boolean;
  readonly name: string;
  readonly task: string;
  readonly turns: number;
  readonly messages: number;
  readonly seenMs: number;
}

/** What was cut of a text, in numbers. */
export interface CutShown {
  readonly pruneId: string;
  readonly kind: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** One text of a conversation. Its words are asked for by its prune ids: of what was never cut none are kept. */
export interface TextOfTurn {
  readonly id: string;
  readonly row: number;
  /** Index of its message. */
  readonly ordinal: number;
  /** The request that brought it first. */
  readonly turn: number;
  readonly role: string;
  readonly type: string;
  readonly effect: string;
  readonly tool: string;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly tokens: number;
  readonly lines: number;
  /** Time of the request of its turn, in epoch milliseconds. */
  readonly atMs: number;
  readonly directed: 'pin' | 'stash' | 'delete' | null;
  /** It is no longer part of what the client sends. */
  readonly left: boolean;
  readonly cuts: readonly CutShown[];
  /** Under which its whole text can be had while it is stashed; `null` where it cannot. */
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

export interface CutOfText {
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  /** The line that the model saw in its place. */
  readonly marker: string;
}

/** How cuts are written into what is sent, as the settings have it now. */
export interface SentAs {
  /** `prune`, `shadow` (decided, but sent whole) or `off`. */
  readonly mode: string;
  readonly includeMarkers: boolean;
  /** Each kept line bears its number. */
  readonly annotateLines: boolean;
}

/** A part of an original, and what of it went to the model. */
export interface TextPart {
  readonly pruneId: string;
  readonly tool: string;
  readonly kind: string;
  readonly sourceType: string;
  readonly goal: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly cuts: readonly CutOfText[];
  readonly sent: SentAs;
  readonly part: readonly LineShown[];
  /** The first line of the next part, or `null` at the end. */
  readonly next: number | null;
}

export interface WhyShown {
  /** Language of the regions' words, as a tag such as `fr`; all else is English. */
  readonly language: string;
  /** How far the explanation goes; `''` when all the way. */
  readonly caveat: string;
  /** By which boldness step it was judged, in words; `''` where none was ever taken. */
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
  /** Where the value came from, in words. */
  readonly from: string;
  readonly doc: string;
  readonly unit: string;
}

/** What `doctor` found. */
export interface FindingShown {
  readonly level: 'ok' | 'note' | 'failure';
  readonly what: string;
  readonly advice?: string;
}

export interface RequestPage {
  /** The newest first. */
  readonly requests: readonly RequestShown[];
  /** Where the next page begins, as `before`; `null` at the end. */
  readonly next: number | null;
}

export interface StoreShown {
  readonly prunes: number;
  readonly snapshots: number;
  readonly bytes: number;
  readonly oldestMs: number | null;
  readonly newestMs: number | null;
  readonly nextExpiryMs: number | null;
  readonly lastExpiryMs: number | null;
  readonly maxBytes: number;
  readonly ttlS: number;
  readonly place: string;
  readonly nowMs: number;
}

export interface PruneShown {
  readonly row: number;
  readonly pruneId: string;
  readonly tool: string;
  readonly sourceType: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly createdMs: number;
  readonly expiresMs: number;
}

export interface PrunePage {
  readonly prunes: readonly PruneShown[];
  /** Where the next page begins, as `before`; `null` at the end. */
  readonly next: number | null;
}

/** What a search of the results of tools found. */
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
