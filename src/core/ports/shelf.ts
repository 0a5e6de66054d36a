/** Statistics of one tool declaration, for one client of a project. */
export interface ShelfTool {
  readonly project: string;
  /** Product name of the user agent, without version. */
  readonly client: string;
  readonly name: string;
  /** As in `Declaration`. */ readonly kind: 'plain' | 'deferred' | 'never';
  /** Estimated tokens of the whole declaration. */
  readonly tokens: number;
  /** Tokens that shortening would save, markers subtracted. */
  readonly saves: number;
  /**
   * Number of conversations whose answered first request declared the tool, and the number of UTC days on which they
   * began.
   */
  readonly conversations: number;
  readonly days: number;
  readonly calls: number;
  /** Epoch milliseconds; `null` if never called. */
  readonly lastCallMs: number | null;
  /** Time of the first declaration, in epoch milliseconds. */
  readonly firstMs: number;
  /** Dollars paid for the declaration. */
  readonly dollars: number;
  /** The tool is on the shelf: new conversations get it shortened if the setting allows it. */
  readonly shelved: boolean;
}

/** A cut in one tool description, identified by the description's hash. Holds no text. */
export interface ShelfCut {
  /** Tool name as declared. */
  readonly tool: string;
  /** Whether the description belongs to the tool itself, not to a parameter. */
  readonly ofTool: boolean;
  /** Hash of the whole description. */
  readonly textHash: string;
  /** Number of leading characters that stay, in UTF-16 units. */
  readonly chars: number;
  /** Line range in the marker. */
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  readonly pruneId: string;
  /** Estimated tokens, the marker subtracted. */
  readonly tokensSaved: number;
}

/** A conversation whose first request is about to be forwarded. */
export interface NewConversation {
  readonly project: string;
  readonly conversation: string;
  /** Cuts in its tools; empty if it begins with whole tools. */
  readonly cuts: readonly ShelfCut[];
  /** A decision about the same conversation is reused if it was used within this time, in milliseconds. */
  readonly decisionTtlMs: number;
  readonly atMs: number;
}

/** A tool declaration in the first request of a conversation. */
export interface SeenDeclaration extends Pick<ShelfTool, 'name' | 'kind' | 'tokens' | 'saves'> {
  readonly hash: string;
}

/** A request that a model answered. */
export interface SeenTools {
  readonly project: string;
  readonly client: string;
  readonly conversation: string;
  /** Whether the request contains no message of the model. */
  readonly isFirst: boolean;
  readonly declarations: readonly SeenDeclaration[];
  /** Number of calls of each tool in the conversation so far, including the newest answer. */
  readonly calls: ReadonlyMap<string, number>;
  /** Tools with shortened descriptions in this request, and the tokens saved. */
  readonly shortened: ReadonlySet<string>;
  readonly tokensSaved: number;
  /** Whether a tool is exempt by name. */
  readonly never: (name: string) => boolean;
  readonly atMs: number;
}

/** Declarations of a conversation, for billing its requests. */
export interface ShelfConversation {
  /** Tokens that the shelf would save in each request. */
  readonly wouldSave: number;
  /** Row ids of the declarations. */
  readonly tools: readonly number[];
}

/** Cost of the tools in one request. */
export interface ShelfCharge {
  readonly project: string;
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly tools: readonly number[];
  /** Tokens sent although they were not needed. */
  readonly wouldSave: number;
  /** Savings by shortening. */
  readonly saved: ShelfSums;
  /** Price of one token of the tools, in dollars. */
  readonly rate: number;
}

/** Tokens over all requests, and dollars. */
export interface ShelfSums {
  readonly tokens: number;
  readonly usd: number;
}

/** Savings by the shelf over some days. */
export interface ShelfTotals {
  /** Savings by shortening, had it been applied everywhere, in addition to `saved`. */
  readonly wouldSave: ShelfSums;
  readonly saved: ShelfSums;
  /** Calls of tools with shortened descriptions. */
  readonly called: number;
}

/**
 * The store of the tool shelf and its usage statistics. Each method may reject with `StoreUnavailable`. A request waits
 * for it only when its conversation begins or when this process sees the conversation for the first time.
 */
export interface ShelfStore {
  /**
   * Puts unused tools on the shelf, at most once per UTC day, project and client. Returns the hashes of the shelved
   * declarations for new conversations. A call removes a tool from the shelf.
   *
   * @param query.never - tools that are never shelved
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
  /** The decision made when a conversation began; `null` if nothing was recorded. Extends the record by 90 days. */
  cutsOf(query: {
    readonly project: string;
    readonly conversation: string;
    readonly atMs: number;
  }): Promise<readonly ShelfCut[] | null>;
  /** Counts a conversation with its first request, and each of its calls once, in whichever request it occurs. */
  record(request: SeenTools): Promise<ShelfConversation>;
  charge(charge: ShelfCharge): Promise<void>;
  /** All declarations, by tokens descending, at most 10,000. */
  tools(query: { readonly project?: string }): Promise<readonly ShelfTool[]>;
  totals(query: { readonly sinceDay: string; readonly project?: string }): Promise<ShelfTotals>;
}
