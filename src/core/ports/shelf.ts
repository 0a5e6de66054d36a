/** What is known of one declaration of a tool, by one client of a project. */
export interface ShelfTool {
  readonly project: string;
  /** Product name of the user agent, without its version. */
  readonly client: string;
  readonly name: string;
  /** As in `Declaration`. */ readonly kind: 'plain' | 'deferred' | 'never';
  /** Of the whole declaration, estimated. */
  readonly tokens: number;
  /** What shortening would take off, its markers subtracted. */
  readonly saves: number;
  /**
   * Number of conversations whose first request declared it and was answered, and the number of UTC days on which they
   * began.
   */
  readonly conversations: number;
  readonly days: number;
  readonly calls: number;
  /** Epoch milliseconds; `null`: never called. */
  readonly lastCallMs: number | null;
  /** When it was declared first, in epoch milliseconds. */
  readonly firstMs: number;
  /** Dollars that requests paid for it. */
  readonly dollars: number;
  /** It is on the shelf: new conversations get it shortened, if the setting says so. */
  readonly shelved: boolean;
}

/** What is removed from one description of a tool, identified by the hash of the description. Holds no text. */
export interface ShelfCut {
  /** The tool's name, as in its declaration. */
  readonly tool: string;
  /** Whether the description is the tool's own, and not one of a parameter. */
  readonly ofTool: boolean;
  /** Of the whole description. */
  readonly textHash: string;
  /** Characters at its beginning that stay, in UTF-16 units. */
  readonly chars: number;
  /** As the marker names them. */
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  readonly pruneId: string;
  /** Estimated, the marker subtracted. */
  readonly tokensSaved: number;
}

/** A conversation whose first request is about to be forwarded. */
export interface NewConversation {
  readonly project: string;
  readonly conversation: string;
  /** What is taken from its tools; empty: it begins with whole ones. */
  readonly cuts: readonly ShelfCut[];
  /** An existing decision about the same conversation still applies if it was used within this many milliseconds. */
  readonly decisionTtlMs: number;
  readonly atMs: number;
}

/** A tool as the first request of a conversation declared it. */
export interface SeenDeclaration extends Pick<ShelfTool, 'name' | 'kind' | 'tokens' | 'saves'> {
  readonly hash: string;
}

/** A request that a model answered. */
export interface SeenTools {
  readonly project: string;
  readonly client: string;
  readonly conversation: string;
  /** It contains no message of the model. */
  readonly isFirst: boolean;
  readonly declarations: readonly SeenDeclaration[];
  /** How often the conversation has called each tool by now, its newest answer included. */
  readonly calls: ReadonlyMap<string, number>;
  /** Tools whose descriptions were shortened in this request, and the tokens that this took off it. */
  readonly shortened: ReadonlySet<string>;
  readonly tokensSaved: number;
  /** Tools that are left whole by name. */
  readonly never: (name: string) => boolean;
  readonly atMs: number;
}

/** What a conversation declared, for the bills of its requests. */
export interface ShelfConversation {
  /** Tokens that the shelf would take off each of its requests. */
  readonly wouldSave: number;
  /** Rows of its declarations. */
  readonly tools: readonly number[];
}

/** What a request paid. */
export interface ShelfCharge {
  readonly project: string;
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly tools: readonly number[];
  /** Tokens that were sent although they were not needed. */
  readonly wouldSave: number;
  /** What was removed. */
  readonly saved: ShelfSums;
  /** Price of one token of the tools, in dollars. */
  readonly rate: number;
}

/** Tokens of all requests, and dollars. */
export interface ShelfSums {
  readonly tokens: number;
  readonly usd: number;
}

/** What the shelf saved in some days. */
export interface ShelfTotals {
  /** What shortening would have saved in addition to what it saved. */
  readonly wouldSave: ShelfSums;
  readonly saved: ShelfSums;
  /** Calls of tools whose descriptions were shortened. */
  readonly called: number;
}

/**
 * The store of the tool shelf and its usage statistics. Each method may reject with `StoreUnavailable`. A request waits
 * for it only when its conversation begins or when this process sees the conversation for the first time.
 */
export interface ShelfStore {
  /**
   * Puts unused tools on the shelf, at most once per UTC day for a project and client, and returns the hashes of the
   * declarations that are on it for new conversations. A tool that was called is no longer on it.
   *
   * @param query.never - tools that are never put there
   */
  updateShelf(query: {
    readonly project: string;
    readonly client: string;
    readonly never: (name: string) => boolean;
    readonly atMs: number;
  }): Promise<ReadonlySet<string>>;
  /**
   * Records how a conversation begins.
   *
   * @returns the decision that applies: an existing one wins
   */
  begin(conversation: NewConversation): Promise<readonly ShelfCut[]>;
  /** What was decided when a conversation began; `null` if nothing was recorded. Keeps the record for 90 more days. */
  cutsOf(query: {
    readonly project: string;
    readonly conversation: string;
    readonly atMs: number;
  }): Promise<readonly ShelfCut[] | null>;
  /** Counts a conversation with its first request, and each of its calls once, in whichever request it occurs. */
  record(request: SeenTools): Promise<ShelfConversation>;
  charge(charge: ShelfCharge): Promise<void>;
  /** All declarations, those with most tokens first, at most 10,000. */
  tools(query: { readonly project?: string }): Promise<readonly ShelfTool[]>;
  totals(query: { readonly sinceDay: string; readonly project?: string }): Promise<ShelfTotals>;
}
