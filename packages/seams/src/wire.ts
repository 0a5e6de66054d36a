import type { Role, ScannedBody, ScannedMessage } from 'mcp-pruner/wires/dialects/dialect.ts';

/** Tokens of a compaction by price class. */
export interface CompactionUsage {
  readonly input: number;
  readonly read: number;
  readonly written: number;
  readonly written1h: number;
  readonly output: number;
}

/** What the provider answered to a compaction request. */
export type CompactionAnswer =
  | {
      /** JSON of the items that replace the messages, as received, with commas between. */
      readonly block: string;
      readonly usage: CompactionUsage | null;
    }
  | { readonly cause: string; readonly usage: CompactionUsage | null };

/** A background request, before its headers. */
interface CompactionRequest {
  readonly path: string;
  readonly body: Buffer;
}

/** How a wire's provider compacts. All bodies are plain JSON; methods may throw JsonShapeError. */
export interface SeamWire {
  /** Feature for `anthropic-beta`; `''` if none is needed. */
  readonly beta: string;
  /** Type of text parts in user messages. */
  readonly textType: string;
  /** Roles of messages behind whose content a line may be added. */
  readonly takesLine: ReadonlySet<Role>;
  /**
   * Whether the bytes of new messages bring a result, and no words of the user. Without anything new, the user's words may
   * be sent again, after a refusal.
   */
  bringsOnlyResults(added: Buffer): boolean;
  /** Why conversations like this one are not compacted; `''` if they may be. */
  excluded(body: Buffer, scanned: ScannedBody): string;
  /**
   * @param body - the seam's request as it was sent
   * @param count - number of its messages before the seam
   */
  request(body: Buffer, scanned: ScannedBody, count: number, path: string, isLogin: boolean): CompactionRequest;
  /** @param sent - the compaction request */
  answer(answer: Buffer, sent: Buffer, isStream: boolean, isLogin: boolean): CompactionAnswer;
  /** Number of leading messages that stay before a block. */
  kept(body: Buffer, messages: readonly ScannedMessage[]): number;
  /** The message, or messages, with a block. */
  carrying(block: string): string;
  /** Removes the model's thinking from messages, chosen by their index; `null` if there is none. */
  withoutThinking(body: Buffer, scanned: ScannedBody, isGone: (message: number) => boolean): Buffer | null;
  /** Pictures and documents in messages. */
  pictures(body: Buffer, messages: readonly ScannedMessage[]): number;
}

/** A user's message on either wire. Quotes inside texts are escaped. */
export const USER = '"user"';

/** Replaces the provider's own prompt for a summary. At most 16,384 characters. */
export const INSTRUCTIONS = [
  'Summarize this conversation so that the assistant can go on with it without the messages that you summarize.',
  'Keep: what the user wants; every decision, with its reasons; rules and preferences the user gave; what was done, file by file, with full paths;',
  'commands that were run, word for word, and how they ended; errors and their causes; open questions and next steps;',
  'and every prune id (prn_…) with the file or command it belongs to, because the original text can be recovered by it.',
  'Leave out the contents of files and outputs that can be read again. Do not call any tool; write text only.',
].join('\n');

/** A block or an answer longer than this is refused, in bytes. */
export const MAX_ANSWER_BYTES = 2 * 1024 * 1024;
export const MAX_OUTPUT_TOKENS = 8_192;

/** Host, with its port if it is not the usual one. */
export function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}
