/** Tokens of one request or of many, by what a provider asks for them. */
export interface TokenCounts {
  /** Input that came from no cache and went into none. */
  readonly fresh: number;
  /** Input written to a cache that lives for five minutes, or as long as the provider lets it live. */
  readonly write5m: number;
  /** Input written to a cache that lives for an hour. */
  readonly write1h: number;
  /** Input read from a cache. */
  readonly read: number;
  readonly output: number;
}

/** Why input that should have come from the cache did not. `changed_by_us` is a fault of this program. */
export type MissCause =
  | 'first_request'
  | 'expired'
  | 'model_changed'
  | 'tools_changed'
  | 'system_changed'
  | 'message_changed'
  | 'compacted'
  | 'changed_by_us'
  | 'unknown';

/** How a line that was cut turned out to be needed. */
export type RegretKind = 'recovered' | 'reread' | 'quoted';

/** Whether a conversation is pruned, or left whole to be compared with. */
export type Arm = 'pruned' | 'control';

/** Which request it is, and whose. */
interface NamedRequest {
  readonly requestId: string;
  readonly atMs: number;
  readonly project: string;
  readonly conversationId: string;
  readonly wire: string;
  /** The provider that answered, such as `bedrock`; absent where it is not known. */
  readonly cloud?: string | undefined;
  /** Id of the access key that it came with; absent without keys. */
  readonly keyId?: string | undefined;
  /** Product name of the user agent; absent where it is not known. */
  readonly client?: string | undefined;
  readonly model: string;
  readonly arm: Arm;
}

/** How the work of a request or a conversation goes, in counts. */
export interface WorkCounts {
  /** Messages in which the user said something, and of these those that correct the model. */
  readonly userMessages: number;
  readonly corrections: number;
  /** Calls that the model made; those that its conversation had made before; those that asked for what was cut. */
  readonly calls: number;
  readonly callsAgain: number;
  readonly recoveries: number;
  /** Edits of parts of files, and those whose text to replace was not found. */
  readonly edits: number;
  readonly failedEdits: number;
  /** Test runs that failed, and passing ones whose predecessor failed. */
  readonly redTests: number;
  readonly turnedGreen: number;
}

/** One request as the ledger keeps it: figures and names, never a text. Dollars are `null` where no price is known. */
export interface LedgerTurn extends NamedRequest, TokenCounts {
  /** The provider did not say what was used: tokens are estimates. */
  readonly estimated: boolean;
  readonly dollars: number | null;
  /** What it would have cost unpruned. */
  readonly dollarsWithout: number | null;
  /** Tokens that are missing from its body, markers subtracted; and of these, those that went in it for the first time. */
  readonly removed: number;
  readonly removedNew: number;
  /** `null`: the cache was hit as far as it could be, or could not be judged. */
  readonly miss: MissCause | null;
  /** Tokens that should have been read from the cache, and what they cost above that. */
  readonly missTokens: number;
  readonly missDollars: number | null;
  /** Index of the message from which on it was another one, where that is the cause; -1 elsewhere. */
  readonly missAt: number;
  /** Tokens that came again because they had been cut, with their price. */
  readonly regretTokens: number;
  readonly regretDollars: number | null;
  /** Absent where it was recorded before work was counted, or shows none that is new. */
  readonly work?: WorkCounts | undefined;
}

/**
 * One figure that is added up: of a day (UTC, `YYYY-MM-DD`), a project, and a part of it. `slice` says what `key` names:
 * nothing (`all`), a model, the id of an access key, a wire, a tool with its kind (`tool`, joined by a tab), a cause of cache misses
 * (`miss`), an arm, a boldness step with a kind and a tool (`step`).
 */
export interface LedgerSum {
  readonly day: string;
  readonly project: string;
  readonly slice: 'all' | 'wire' | 'model' | 'key' | 'tool' | 'miss' | 'regret' | 'arm' | 'step';
  readonly key: string;
  readonly field: string;
  readonly value: number;
}

/** A conversation by the requests that are kept of it. */
export interface LedgerConversation extends WorkCounts {
  readonly conversationId: string;
  readonly project: string;
  readonly arm: Arm;
  readonly turns: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
  readonly output: number;
  readonly regretTokens: number;
  /** Tokens of its smallest request without cuts, which is the first one as a rule. */
  readonly firstRequestTokens: number;
  /** How often a client compacted it. */
  readonly compactions: number;
}

/** A step of boldness for texts of a (project, tool, kind): a numbered fact that is never changed, only followed by another. */
export interface BoldnessStep {
  /** Ascending, without reuse. */
  readonly number: number;
  readonly project: string;
  readonly tool: string;
  readonly kind: string;
  /** -2 (mildest) to 2 (boldest); 0 is as configured. */
  readonly step: number;
  readonly atMs: number;
  /** What it was decided on: texts that were cut, and how many of them were regretted. */
  readonly texts: number;
  readonly regretted: number;
}

/** Where a text was cut. */
export interface CutPlace {
  readonly project: string;
  readonly conversationId: string;
  readonly newest: LedgerTurn | null;
}

/** What the ledger carries from one request to the next: of a conversation, or of a model. Only the ledger reads `data`. */
export interface LedgerState {
  /** Identifies it; unique in the store. */
  readonly name: string;
  /** Common to conversations of which one may be a compaction of another; `''` for anything else. */
  readonly lineage: string;
  /** Time of the newest request in it, in epoch milliseconds. States without a request for 90 days are deleted. */
  readonly atMs: number;
  /** Changes with each write. */
  readonly version: number;
  readonly data: string;
}

/** A request that is not billed yet, because the one before it may still be in another process. */
export interface WaitingRequest {
  readonly requestId: string;
  /** When it was stored, in epoch milliseconds of the machine's own clock. */
  readonly sinceMs: number;
  /** Names of the states that its bill is made from. */
  readonly names: readonly string[];
  readonly lineage: string;
  readonly data: string;
}

/** What the ledger asks for when it bills requests. */
export interface SettleQuery {
  /** States that are needed, and the version that is held in memory of each (0: none). */
  readonly states: ReadonlyMap<string, number>;
  /** Of these lineages the newest state is needed. */
  readonly lineages: readonly string[];
  readonly requestIds: readonly string[];
  /** The state by which this process shows that it uses the store; of the same lineage, those of others since `aliveFromMs` count. */
  readonly process: { readonly name: string; readonly lineage: string; readonly aliveFromMs: number };
}

/** The project to which figures are added once a day holds as many as it may. */
export type Others = '(others)';

/** What the store answers, and keeps as it is until `SettleWork` returns. */
export interface Settling {
  /** States that are not held in this version. */
  readonly states: readonly LedgerState[];
  /** States that are held and did not change. */
  readonly unchanged: ReadonlySet<string>;
  /** The newest states of the lineages. */
  readonly newest: readonly LedgerState[];
  /** Oldest first; at most 200. Their states are among `states`. */
  readonly waiting: readonly WaitingRequest[];
  /** Of the requests asked about, those that are billed or wait already. */
  readonly seen: ReadonlySet<string>;
  /** Whether other processes use the store as well. */
  readonly others: boolean;
}

/** What becomes of it; written in one transaction. */
export interface Settled {
  readonly turns: readonly LedgerTurn[];
  readonly sums: readonly LedgerSum[];
  readonly states: readonly LedgerState[];
  /** Names of states that are deleted. */
  readonly removed: readonly string[];
  /** Requests that must wait from now on, and ids of those that wait no longer. */
  readonly waits: readonly WaitingRequest[];
  readonly billed: readonly string[];
}

/** Bills requests. Called again where the transaction has to be repeated, so it must change nothing by itself. */
export type SettleWork = (settling: Settling) => Settled;

/** Dollars of a key or of a project on one day. */
export interface SpentDollars {
  readonly day: string;
  readonly of: 'key' | 'project';
  readonly name: string;
  readonly dollars: number;
}

/** Where the ledger lives. Every method may reject with `StoreUnavailable`; none is called while a request waits. */
export interface LedgerStore {
  /** Bills requests in one transaction, one process at a time. Returns how many figures were folded, see `add`. */
  settle(query: SettleQuery, work: SettleWork): Promise<number>;
  /**
   * Adds turns and figures in one transaction. A day has room for 20,000 figures: beyond it, those of further projects are added
   * to the project `(others)`.
   *
   * @returns how many figures were added to `(others)`
   */
  add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number>;
  /** Figures since a day (inclusive), each day for itself, newest day first; at most 200,000. Without `slice` all of them. */
  sums(query: {
    readonly sinceDay: string;
    readonly project?: string;
    readonly slice?: LedgerSum['slice'];
  }): Promise<readonly LedgerSum[]>;
  /** Dollars by day, key and project, of days from `sinceDay` on. */
  spent(query: { readonly sinceDay: string }): Promise<readonly SpentDollars[]>;
  /**
   * The same, added up for a report: of the whole (`all`) by day with `project` `''`, newest first, and by project with `day` `''`;
   * of models, keys, tools and misses by `key` alone.
   */
  totals(query: { readonly sinceDay: string; readonly project?: string }): Promise<readonly LedgerSum[]>;
  /** Requests of a conversation in their order, behind `after` (a request's id) if given, at most `limit`. */
  turns(query: {
    readonly conversationId: string;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly LedgerTurn[]>;
  /** Conversations with a request since then, the one with the newest request first, at most `limit`. */
  conversations(query: {
    readonly sinceMs: number;
    readonly project?: string;
    readonly limit: number;
  }): Promise<readonly LedgerConversation[]>;
  /**
   * Where a text was cut, by what is kept of its conversation: its project, the conversation, and the newest request of it that
   * is kept, if one is. `null` where nothing is known of it any more.
   */
  cutIn(pruneId: string): Promise<CutPlace | null>;
  /** The newest step of each (project, tool, kind). */
  steps(): Promise<readonly BoldnessStep[]>;
  /**
   * Adds a step behind the newest one of its (project, tool, kind).
   *
   * @param after - number of that one, 0 where there is none
   * @returns the step with its number; `null` when another one was added since
   */
  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null>;
}

/** A part beside the whole that it is a part of; `share` is `null` where there is no whole. */
export interface Share {
  readonly part: number;
  readonly whole: number;
  readonly share: number | null;
}

/** What was spent and what pruning changed, in dollars of the requests whose model has a price. */
export interface LedgerTotals extends TokenCounts {
  readonly requests: number;
  /** Requests of models without a price: their tokens count, their dollars do not. */
  readonly unpriced: number;
  /** Requests whose tokens are estimates. */
  readonly estimated: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
  /** `dollarsWithout - dollars`: before what the cuts cost in other ways. */
  readonly gross: number;
  readonly regretDollars: number;
  /** `gross - regretDollars`. */
  readonly net: number;
  readonly removed: number;
  readonly removedNew: number;
  readonly regretTokens: number;
  readonly missTokens: number;
  readonly missDollars: number;
  /** Holds `gross` in 95 of 100 cases while removed tokens are estimates; `null` once the provider has counted some of them. */
  readonly savedRange: readonly [low: number, high: number] | null;
  /** In shadow mode: tokens that would have been cut, and dollars that would have been saved. */
  readonly wouldRemove: number;
  readonly wouldSave: number;
}

export interface LedgerDay extends LedgerTotals {
  readonly day: string;
}

export interface LedgerModel extends LedgerTotals {
  readonly model: string;
  /** Tokens reported for each token estimated; `null` until enough was seen. */
  readonly calibration: number | null;
}

/** What came with one access key. Tokens and dollars only: neither regret nor misses. */
export interface LedgerKey extends LedgerTotals {
  readonly keyId: string;
}

/** Texts of one tool and kind. */
export interface LedgerTool {
  readonly tool: string;
  readonly kind: string;
  readonly texts: number;
  readonly cut: number;
  readonly tokens: number;
  readonly removed: number;
  readonly dollarsSaved: number;
  readonly regretTokens: number;
  readonly regretDollars: number;
  /** How often, by how it showed. */
  readonly regrets: Readonly<Record<RegretKind, number>>;
  /** The boldness step that holds now; 0 where none was taken. */
  readonly step: number;
}

export interface LedgerMiss {
  readonly cause: MissCause;
  readonly requests: number;
  readonly tokens: number;
  readonly dollars: number;
}

/** A mean of one arm minus that of the other, with the interval that holds the true difference in 95 of 100 experiments. */
export interface Difference {
  readonly pruned: number;
  readonly control: number;
  /** Of the pruned against the others, as far as it is not by chance: negative where pruning costs less. */
  readonly difference: number;
  /** `null`: too few to decide. */
  readonly interval: readonly [number, number] | null;
  /** There would be enough conversations, if they were more alike: a few are dearer than all others together. */
  readonly tooSkewed: boolean;
}

/** Pruned conversations beside those that were left whole. */
export interface HoldoutResult {
  readonly conversations: Readonly<Record<Arm, number>>;
  /** Whether there are enough of both to say anything. */
  readonly enough: boolean;
  /**
   * How dollars are compared. `pairs`: each pruned conversation with what it would have cost without cuts, since both groups are
   * alike otherwise. `groups`: the groups with each other, by classes of the size of the first request.
   */
  readonly method: 'pairs' | 'groups';
  readonly dollarsPerConversation: Difference;
  readonly dollarsPerTurn: Difference;
  readonly turns: Difference;
  /** What conversations of both groups would have cost without cuts, in dollars: whether they are alike. */
  readonly withoutCuts: Difference;
  readonly outputTokens: Difference;
  readonly regretTokens: Difference;
  readonly plan: HoldoutPlan;
}

/** What would decide the comparison of dollars. */
export interface HoldoutPlan {
  /** Conversations that are still missing: 0 where it is decided, `null` where no number would do. */
  readonly more: number | null;
  /** Share to hold out (`MCP_PRUNER_HOLDOUT`). */
  readonly share: number;
  /** Days until then at the pace so far; `null` where that is not known. */
  readonly days: number | null;
}

/** What of the work is measured; `turns`: requests for a message of the user's. */
export type WorkName =
  | 'failedEdits'
  | 'callsAgain'
  | 'recoveries'
  | 'turns'
  | 'turnedGreen'
  | 'corrections'
  | 'compactions';

/** How often something happened in the conversations of an arm, of how many times it could have. */
export interface WorkRate {
  readonly part: number;
  readonly whole: number;
  readonly rate: number | null;
  /** Holds the rate in 95 of 100 cases; `null`: too few to tell. */
  readonly interval: readonly [low: number, high: number] | null;
}

/** A measure of how the work goes, in pruned conversations and in those that were left whole. */
export interface WorkMeasure {
  readonly name: WorkName;
  /** As a heading of a row. */
  readonly words: string;
  /** The rate is a share of all that could have happened; otherwise a number for each. */
  readonly isShare: boolean;
  readonly pruned: WorkRate;
  readonly control: WorkRate;
  /** Of the pruned against the others; `null`: too few to tell. */
  readonly difference: { readonly middle: number; readonly interval: readonly [number, number] | null } | null;
}

/** Removed tokens that the provider was asked for, beside the estimate of the very same. */
export interface CheckedShare {
  readonly requests: number;
  /** Requests that the provider gave no count for. */
  readonly failed: number;
  /** The same by reason (a code of `CountAnswer.failure`), the most frequent first. */
  readonly failures: readonly { readonly reason: string; readonly requests: number }[];
  /** Of all requests that were counted. */
  readonly exact: number;
  /** The same as the engine estimates it, uncalibrated. */
  readonly estimated: number;
}

/** All that the report and the page show of the ledger. */
export interface LedgerReport {
  readonly sinceDay: string;
  readonly project: string | null;
  /** What is missing from the figures or wrong with their prices, a sentence each. */
  readonly notes: readonly string[];
  readonly totals: LedgerTotals;
  /** Newest first. */
  readonly days: readonly LedgerDay[];
  /** Most dollars first. */
  readonly models: readonly LedgerModel[];
  readonly projects: readonly (LedgerTotals & { readonly project: string })[];
  /** Most dollars first. */
  readonly keys: readonly LedgerKey[];
  /** Most saved first. */
  readonly tools: readonly LedgerTool[];
  /** What was removed, of four wholes: one alone always flatters. */
  readonly shares: {
    /** Of the tokens of the texts that were looked at, each once. */
    readonly ofTexts: Share;
    /** Of input that was billed anew (fresh and written), with what was removed for the first time. */
    readonly ofNewInput: Share;
    /** Of all input, read from the cache or not, with what was removed. */
    readonly ofAllInput: Share;
    /** In dollars: net saving, of what the requests would have cost. */
    readonly ofBill: Share;
  };
  /** Most dollars first. */
  readonly misses: readonly LedgerMiss[];
  /** `null` while no conversation was held out. */
  readonly holdout: HoldoutResult | null;
  /** How the work goes; measures of which nothing was seen are left out. */
  readonly work: readonly WorkMeasure[];
  /** `null` while the provider was asked for nothing. */
  readonly checked: CheckedShare | null;
  /** Boldness steps that hold, the newest first. */
  readonly steps: readonly BoldnessStep[];
}

/** What faces ask of the ledger. Methods may reject with `StoreUnavailable`. */
export interface LedgerReader {
  report(query: { readonly sinceDay: string; readonly project?: string }): Promise<LedgerReport>;
  turns: LedgerStore['turns'];
}

/** A message as it was forwarded. */
export interface MessageFacts {
  /** Stands for it and all before it, as the client sent it. */
  readonly prefix: string;
  /** Its length as it was forwarded, in bytes. */
  readonly bytes: number;
  /** Tokens that were cut from it, markers subtracted, estimated. */
  readonly removed: number;
  /** Stands for what was put in place of what was cut; `''` where nothing was. */
  readonly cuts: string;
  /** Features (`TextFeatures`) of what was cut from it minus those of its markers, separated by blanks; absent where nothing was. */
  readonly cut?: string;
}

/** What was cut in front of the messages: from descriptions of tools. Fields as in `MessageFacts`. */
export type HeadFacts = Pick<MessageFacts, 'removed' | 'cuts' | 'cut'>;

/** What is new in a request, behind the model's last answer. */
export interface FreshFacts {
  /** Index of its first message. */
  readonly from: number;
  /** Messages in front of the model's last answer: as many as the request before this one had. Default: `from - 1`. */
  readonly answerFrom?: number;
  /** As forwarded, estimated. */
  readonly tokens: number;
  /** The messages from the model's last answer on. */
  readonly added?: AddedMessages;
}

/** The messages from the model's last answer on, as forwarded: what came to a conversation since the request before. */
export interface AddedMessages {
  /** Index of the first of them. */
  readonly since: number;
  /** Their number. */
  readonly messages: number;
  /** Features (`TextFeatures`) of what the model said and called, and of everything else. */
  readonly said: readonly number[];
  readonly texts: readonly number[];
  /** Something in them may bring hidden reasoning back: a signature, an encrypted or a plain copy of it. */
  readonly carriesThoughts: boolean;
  /** Features of everything before them, tools and instructions included; absent where that is more than a beginning. */
  readonly before?: readonly number[];
}

/** A text that was looked at. */
export interface TextFacts {
  readonly tool: string;
  readonly kind: string;
  /** Whether lines of it were cut. */
  readonly cut: boolean;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of the boldness step that it was decided by; 0 where none was ever taken. */
  readonly boldness: number;
  /** Index of its message. Default: the last one. */
  readonly message?: number;
}

/** A line that was cut and is needed, or a text that came again because it had been cut. */
export interface RegretFacts {
  readonly how: RegretKind;
  readonly tool: string;
  readonly kind: string;
  /** What came again, estimated. */
  readonly tokens: number;
  /** Of the text that was cut, and the number of the boldness step that cut it, as in `TextFacts`. */
  readonly pruneId: string;
  readonly boldness: number;
  /** Index of the message that shows it. Default: the last one. */
  readonly message?: number;
}

/** What the messages from the model's last answer on show of how the work goes: counts and hashes, never a text. */
export interface WorkFacts
  extends Pick<WorkCounts, 'userMessages' | 'corrections' | 'recoveries' | 'edits' | 'failedEdits'> {
  /** Index of the first of these messages. */
  readonly since: number;
  /** A hash of the name and arguments of each call. */
  readonly calls: readonly string[];
  /** Outcomes of test runs, in their order. */
  readonly tests: readonly ('red' | 'green')[];
}

/** What was used, as the provider reports it; `null` where it says nothing of it. */
export interface ReportedUsage {
  /** All that was read, from a cache or not. */
  readonly input: number | null;
  readonly output: number | null;
  readonly read: number | null;
  /** Written to a cache, of both lifetimes. */
  readonly written: number | null;
  /** Of `written`, for an hour. */
  readonly written1h: number | null;
  /** Of `output`, hidden reasoning. Absent: not reported. */
  readonly reasoning?: number | null;
}

/** The provider's count of a request as it came. */
export interface CountAnswer {
  /** Tokens; `null` where the provider gave no count. */
  readonly input: number | null;
  /** Why there is no count, as a short constant code (`status_400`, `history_refused`, `timeout`, `busy`); `''` where there is one. */
  readonly failure: string;
}

/** A request that a model answered. Holds no text. */
export interface RequestFacts extends NamedRequest {
  readonly usage: ReportedUsage | null;
  /** Stand for the tools and the instructions beside the messages. */
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly MessageFacts[];
  /** What was cut in front of them; absent where nothing was. */
  readonly head?: HeadFacts | undefined;
  /** Bytes of the forwarded body. */
  readonly bytes: number;
  /** The provider's count of the body as it came. Absent: not asked. */
  readonly counted?: CountAnswer;
  /** Messages up to the last one that the client asked to be cached; `null` where it asks for none. */
  readonly cacheUpTo: number | null;
  /** Messages up to the last one that the client asked to be cached for an hour; absent where it asks for none. */
  readonly cacheHourUpTo?: number | null;
  /** Texts that may be new: the ledger leaves those out that the request before had as well. */
  readonly texts: readonly TextFacts[];
  readonly regrets: readonly RegretFacts[];
  readonly work?: WorkFacts | undefined;
  /** Common to requests of the same project, key, model, tools and system; `''` or absent: unknown. */
  readonly lineage?: string;
  /** Stands for the last message as it came. */
  readonly newest?: readonly string[];
  /** The first message carries the summary of another conversation. */
  readonly summarised?: boolean;
  /** It went out whole only to see what would have been cut: what is `removed` from its messages counts below 0. */
  readonly shadow?: true;
  /** Tokens of what is new since `from` messages and no answer of the model's, as forwarded, estimated. */
  readonly fresh: FreshFacts;
}

/** Takes requests as they end. Neither throws nor waits. */
export interface LedgerSink {
  request(facts: RequestFacts): void;
  /** Lines behind a marker were asked for. */
  recovered(pruneId: string, tokens: number): void;
}
