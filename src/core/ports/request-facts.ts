import type { NamedRequest, RegretKind, WorkCounts } from './ledger.ts';
import type { SumGroup } from './ledger-store.ts';

/** A message as forwarded. */
export interface MessageFacts {
  /** Hash over all messages up to this one, as received. */
  readonly prefix: string;
  /** Forwarded length in bytes. */
  readonly bytes: number;
  /** Estimated tokens cut from the message, markers subtracted. */
  readonly removed: number;
  /** Hash of the replacements, after `*` if a directive (stash, pin) decides; `''` if nothing was cut. */
  readonly cuts: string;
  /** Part of `removed` that an earlier message shows; absent if none. */
  readonly repeated?: number;
  /** Part of `removed` that was put aside while the cache was cold; absent if none. */
  readonly aside?: number;
}

/** The part of a request after the model's last answer. */
export interface FreshFacts {
  /** Index of its first message. */
  readonly from: number;
  /** Index of the model's last answer, which equals the length of the previous request. Default: one before `from`. */
  readonly answerFrom?: number;
  /** Estimated tokens as forwarded. */
  readonly tokens: number;
  /** Estimated tokens of the model's last answer, without hidden reasoning. */
  readonly said?: number;
  /** Hidden reasoning of that answer may be sent back: as a signature, or an encrypted or plain copy. */
  readonly carriesThoughts?: boolean;
}

/** An examined text. */
export interface TextFacts {
  readonly tool: string;
  readonly kind: string;
  /** Whether any of its lines were cut. */
  readonly cut: boolean;
  /** Why it was left whole: a code accepted by `leftWholeWords`. Absent if it was cut. */
  readonly whole?: string | undefined;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of cut lines; absent if unknown. */
  readonly linesCut?: number;
  /** Index of its message. Default: the last one. */
  readonly message?: number;
}

/** New results that were not examined, all for one reason, such as `small` or `held_out`. */
export interface UnexaminedFacts {
  readonly reason: string;
  /** Index of the message of each of them. */
  readonly messages: readonly number[];
}

/** A cut line that turned out to be needed, or a text sent again because it had been cut. */
export interface RegretFacts {
  readonly how: RegretKind;
  readonly tool: string;
  readonly kind: string;
  /** Estimated tokens that were sent again. */
  readonly tokens: number;
  /** Prune id of the cut text. */
  readonly pruneId: string;
  /** Index of the message in which it appears. Default: the last one. */
  readonly message?: number;
  /** What a shell command recovered; all lines if there are no ranges. */
  readonly recovered?: { readonly ranges: number; readonly lines: number };
}

/** Counts from the model's last answer on. */
export interface WorkFacts extends WorkCounts {
  /** Index of the first message counted. */
  readonly since: number;
}

/** Usage reported by the provider; `null` for figures that it does not report. */
export interface ReportedUsage {
  /** All input tokens, cached or not. */
  readonly input: number | null;
  readonly output: number | null;
  readonly read: number | null;
  /** Tokens written to a cache of either lifetime. */
  readonly written: number | null;
  /** Part of `written` with a one-hour lifetime. */
  readonly written1h: number | null;
  /** Part of `output` that is hidden reasoning. Absent if not reported. */
  readonly reasoning?: number | null;
  /** Tokens of further model calls within the request, such as a compaction: billed, but in no other figure. */
  readonly besides?: Omit<ReportedUsage, 'besides'> | undefined;
  /** How the request was served, if that has another price; `searches` and `cost` as reported. Absent if not reported. */
  readonly served?: readonly string[] | undefined;
  readonly searches?: number | undefined;
  readonly cost?: number | undefined;
}

/** An answered request, without any text. Time and usage are set when it ends. */
export interface RequestFacts extends NamedRequest {
  readonly usage: ReportedUsage | null;
  /** Tokens of the answer, estimated if not reported. Default: 0. */
  readonly answerTokens?: number | undefined;
  /** Hashes of the tools, and of the instructions outside the messages. */
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly MessageFacts[];
  /** Size of the forwarded body. */
  readonly bytes: number;
  /** Number of messages up to the last cache breakpoint set by the client; `null` without one. */
  readonly cacheUpTo: number | null;
  /** The same for breakpoints with a lifetime of an hour; absent without one. */
  readonly cacheHourUpTo?: number | null;
  /** Texts that may be new. The ledger ignores texts that the previous request also contained. */
  readonly texts: readonly TextFacts[];
  /** Results that may be new and were not examined; absent if there are none. */
  readonly unexamined?: UnexaminedFacts | undefined;
  readonly regrets: readonly RegretFacts[];
  readonly work?: WorkFacts | undefined;
  /** Shared by requests with the same project, key, model, tools and system; `''` or absent if unknown. */
  readonly lineage?: string;
  /** Hashes of the newest received messages; currently one. */
  readonly newest?: readonly string[];
  /** The first message is a summary of another conversation. */
  readonly summarised?: boolean;
  /** Shadow mode: the request was forwarded whole, and `removed` is minus what would have been removed. */
  readonly shadow?: true;
  /** Input tokens cleared by the provider, as reported; absent if none. */
  readonly cleared?: number | undefined;
  /** Tokens that would have been put aside; absent if none. */
  readonly wouldBeAside?: number;
  /** See `BilledFigures.odd`. */
  readonly odd?: true | undefined;
  /** The provider reported a changed history, and reports should list the request. */
  readonly prefixBroken?: true;
  /** Content added after the model's last answer, as forwarded. */
  readonly fresh: FreshFacts;
  /** Cache lifetime requested by the client. */
  readonly retentionHours?: number | undefined;
  /** See `HeadSums`. */
  readonly summary?: string;
  /** Set if the request counts towards a budget. */
  readonly metered?: MeteredFacts | undefined;
}

/** Facts that the exchange itself shows, for requests that count against a budget. */
export interface MeteredFacts {
  /** Model name in the answer, or `''`: priced by it if the request's model has no price, else by the ceiling. */
  readonly model: string;
  /** Lower bound for output tokens. */
  readonly output: number;
}

/** Receives finished requests. Never throws or blocks. */
export interface LedgerSink {
  request(facts: RequestFacts): void;
  /** Adds figures that do not depend on a bill. */
  count(groups: readonly SumGroup[]): void;
  /** Records that lines behind a marker were recovered. */
  recovered(pruneId: string, tokens: number): void;
}
