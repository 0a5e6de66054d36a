import type { TextFeatures } from '../../engine/text/features.ts';
import type { NamedRequest, RegretKind, WorkCounts } from './ledger.ts';
import type { SumGroup } from './ledger-store.ts';

/** A message as it was forwarded. */
export interface MessageFacts {
  /** Hash of it and of all messages before it, as the client sent them. */
  readonly prefix: string;
  /** Its length as it was forwarded, in bytes. */
  readonly bytes: number;
  /** Tokens that were cut from it, markers subtracted, estimated. */
  readonly removed: number;
  /** Hash of the replacements for what was cut, after `*` if a directive (stash, pin) decides; `''`: nothing was cut. */
  readonly cuts: string;
  /** Features of what was cut from it minus those of its markers; absent if nothing was cut. */
  readonly cut?: TextFeatures;
  /** Of `removed`, what was put aside while the cache was cold; absent if nothing was. */
  readonly aside?: number;
}

/** What was cut before the messages, from descriptions of tools. Fields as in `MessageFacts`. */
export type HeadFacts = Pick<MessageFacts, 'removed' | 'cuts' | 'cut'>;

/** The part of a request after the model's last answer. */
export interface FreshFacts {
  /** Index of its first message. */
  readonly from: number;
  /** Number of messages before the model's last answer: as many as the previous request had. Default: `from - 1`. */
  readonly answerFrom?: number;
  /** As forwarded, estimated. */
  readonly tokens: number;
  /** The messages from the model's last answer on. */
  readonly added?: AddedMessages;
}

/**
 * The messages from the model's last answer on, as forwarded: what was added to the conversation since the previous
 * request.
 */
export interface AddedMessages {
  /** Index of the first of them. */
  readonly since: number;
  /** Their number. */
  readonly messages: number;
  /** Features (`TextFeatures`) of what the model said and called, and of everything else. */
  readonly said: readonly number[];
  readonly texts: readonly number[];
  /** They contain something that may restore hidden reasoning: a signature, or an encrypted or plain copy. */
  readonly carriesThoughts: boolean;
  /**
   * Features of everything before them, tools and instructions included; absent unless the request is the start of a
   * conversation.
   */
  readonly before?: readonly number[];
}

/** A text that was examined. */
export interface TextFacts {
  readonly tool: string;
  readonly kind: string;
  /** Whether lines of it were cut. */
  readonly cut: boolean;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of the boldness step that it was decided by; 0 if none was ever taken. */
  readonly boldness: number;
  /** Index of its message. Default: the last one. */
  readonly message?: number;
}

/** A line that was cut and is needed, or a text that was sent again because it had been cut. */
export interface RegretFacts {
  readonly how: RegretKind;
  readonly tool: string;
  readonly kind: string;
  /** What was sent again, estimated. */
  readonly tokens: number;
  /** Prune id of the text that was cut. `boldness`: the number of the step by which it was cut, as in `TextFacts`. */
  readonly pruneId: string;
  readonly boldness: number;
  /** Index of the message that shows it. Default: the last one. */
  readonly message?: number;
  /** What a shell command asked for; without ranges, all lines. */
  readonly recovered?: { readonly ranges: number; readonly lines: number };
}

/** Signs of progress in the messages from the model's last answer on: counts and hashes, never a text. */
export interface WorkFacts
  extends Pick<WorkCounts, 'userMessages' | 'corrections' | 'recoveries' | 'edits' | 'failedEdits'> {
  /** Index of the first of these messages. */
  readonly since: number;
  /** A hash of the name and arguments of each call. */
  readonly calls: readonly string[];
  /** Outcomes of test runs, in their order. */
  readonly tests: readonly ('red' | 'green')[];
}

/** The usage that the provider reports; `null` for figures that it does not report. */
export interface ReportedUsage {
  /** All input tokens, read from a cache or not. */
  readonly input: number | null;
  readonly output: number | null;
  readonly read: number | null;
  /** Written to a cache, of both lifetimes. */
  readonly written: number | null;
  /** Of `written`, for an hour. */
  readonly written1h: number | null;
  /** Of `output`, hidden reasoning. Absent: not reported. */
  readonly reasoning?: number | null;
  /** Tokens of further model calls within the request, such as a compaction: billed, and in no other figure. */
  readonly besides?: Omit<ReportedUsage, 'besides'> | undefined;
}

/** The provider's count of a request as the client sent it. */
export interface CountAnswer {
  /** Tokens; `null` if the provider gave no count. */
  readonly input: number | null;
  /**
   * Why there is no count, as a short constant code (`status_400`, `history_refused`, `timeout`, `busy`); `''` if there
   * is one.
   */
  readonly failure: string;
}

/** A request that a model answered. Holds no text. Its time and its usage are set when it has ended. */
export interface RequestFacts extends NamedRequest {
  readonly usage: ReportedUsage | null;
  /** Tokens of the answer, estimated if they are not reported. Default: 0. */
  readonly answerTokens?: number | undefined;
  /** Hashes of the tools and of the instructions outside the messages. */
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly MessageFacts[];
  /** What was cut before the messages; absent if nothing was. */
  readonly head?: HeadFacts | undefined;
  /** Bytes of the forwarded body. */
  readonly bytes: number;
  /** The provider's count of the body as the client sent it. Absent: not asked. */
  readonly counted?: CountAnswer;
  /** Number of messages up to the last one that the client asked to be cached; `null` if it asks for none. */
  readonly cacheUpTo: number | null;
  /** The same for a cache lifetime of an hour; absent if it asks for none. */
  readonly cacheHourUpTo?: number | null;
  /** Texts that may be new. The ledger ignores those that the previous request also contained. */
  readonly texts: readonly TextFacts[];
  readonly regrets: readonly RegretFacts[];
  readonly work?: WorkFacts | undefined;
  /** Common to requests of the same project, key, model, tools and system; `''` or absent: unknown. */
  readonly lineage?: string;
  /** Hashes of the newest messages as received; at present one. */
  readonly newest?: readonly string[];
  /** The first message contains the summary of another conversation. */
  readonly summarised?: boolean;
  /** Shadow mode: it was forwarded whole, and `removed` is negative: minus what would have been removed. */
  readonly shadow?: true;
  /** Input tokens that the provider cleared itself, as it reports them; absent: none. */
  readonly cleared?: number | undefined;
  /** Tokens that would have been put aside at this request; absent: none. */
  readonly wouldBeAside?: number;
  /** The provider reported that its history was changed, and the request is to be named in reports. */
  readonly prefixBroken?: true;
  /** What this request adds after the model's last answer, as forwarded. */
  readonly fresh: FreshFacts;
  /** How long the client asks the provider to keep its cache. */
  readonly retentionHours?: number | undefined;
  /** As in `HeadSums`. */
  readonly summary?: string;
  /** Set if the request counts towards a budget. */
  readonly metered?: MeteredFacts | undefined;
}

/** What an exchange shows by itself, for requests that count against a budget. */
export interface MeteredFacts {
  /** The model that the answer names, or `''`: its price applies if the request's model has none, else the ceiling. */
  readonly model: string;
  /** At least this many tokens of output. */
  readonly output: number;
}

/** Accepts requests as they end. Never throws or blocks. */
export interface LedgerSink {
  request(facts: RequestFacts): void;
  /** Adds figures that are known without a bill. */
  count(groups: readonly SumGroup[]): void;
  /** Records that lines behind a marker were recovered. */
  recovered(pruneId: string, tokens: number): void;
}
