/** What is known of one declaration of a tool, by one client of a project. */
export interface ShelfTool {
  readonly project: string;
  /** Product name of the user agent, without its version. */
  readonly client: string;
  readonly name: string;
  readonly kind: 'plain' | 'deferred' | 'never';
  /** Of the whole declaration, estimated. */
  readonly tokens: number;
  /** What shortening would take off, its markers subtracted. */
  readonly saves: number;
  /** Conversations whose first request declared it and was answered, and the UTC days of these. */
  readonly conversations: number;
  readonly days: number;
  readonly calls: number;
  /** Epoch milliseconds; `null`: never called. */
  readonly lastCallMs: number | null;
  /** When it was declared first, in epoch milliseconds. */
  readonly firstMs: number;
  /** Dollars that requests paid for it. */
  readonly dollars: number;
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
  /** Nothing of the model's stands in it. */
  readonly isFirst: boolean;
  readonly declarations: readonly SeenDeclaration[];
  /** How often the conversation has called each tool by now, its newest answer included. */
  readonly calls: ReadonlyMap<string, number>;
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
  /** Tokens that were not needed, and dollars of one token among the tools. */
  readonly wouldSave: number;
  readonly rate: number;
}

/** Tokens of all requests, and dollars. */
export interface ShelfSums {
  readonly tokens: number;
  readonly usd: number;
}

/** Where the evidence of the tool shelf lives. Each method may reject with `StoreUnavailable`; no request waits for one. */
export interface ShelfStore {
  /** Counts a conversation with its first request, and its calls once each, whichever request shows them. */
  see(request: SeenTools): Promise<ShelfConversation>;
  charge(charge: ShelfCharge): Promise<void>;
  /** All declarations, those with most tokens first, at most 10,000. */
  tools(query: { readonly project?: string }): Promise<readonly ShelfTool[]>;
  wouldSave(query: { readonly sinceDay: string; readonly project?: string }): Promise<ShelfSums>;
}
