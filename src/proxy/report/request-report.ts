import type { CountAnswer } from '../../core/ports/ledger.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import { tailOf } from '../../core/request/read.ts';
import type { Rewritten } from '../../core/request/rewritten.ts';
import type { Dialect, ProviderUsage } from '../../dialects/dialect.ts';
import type { ProviderName } from '../../providers/facts.ts';
import type { Exchange } from '../upstream/pass-on.ts';
import type { OpenFacts } from './ledger-facts.ts';

/** What happened to one request: counts, names and codes; never a text or a credential. */
export interface RequestReport {
  readonly requestId: string;
  /** The child that sent it, if one did. */
  readonly childId?: string | null;
  /** Whose it is, where things belong to projects. */
  readonly project?: string | undefined;
  /** A web page of somebody else may have sent it; nothing of it may be stored. */
  readonly foreign: boolean;
  /** The format that it and its answer are in. */
  readonly wire: Dialect['name'];
  /** The provider that it went to. */
  readonly cloud?: ProviderName;
  /** The conversation, derived from how it begins; `''` when the body was not looked at. */
  readonly conversationId: string;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: number;
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** The bytes forwarded were not the pruned ones (`shadow`, or sent again after a refusal). */
  readonly forwardedOriginal: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly fallbacks: readonly string[];
  readonly pruneMs: number;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  /** As the client saw it; 0 when it left before. */
  readonly status: number;
  readonly end: Exchange['kind'];
  readonly upstreamError: string | null;
  readonly usage: ProviderUsage | null;
  /** For the ledger; `null` where nothing was looked at or generated. */
  readonly facts?: OpenFacts | null;
  /** The provider's count of the body as it came; absent where it was not asked. Never rejects. */
  readonly counted?: Promise<CountAnswer> | undefined;
}

/** How much of a model's name is reported. */
const MAX_MODEL_CHARS = 200;

/** What a report says of a request's content; `null` when it was not looked at. */
export function contentOf(
  rewritten: Rewritten | null,
): Pick<RequestReport, 'conversationId' | 'model' | 'stream' | 'messages' | 'outcomes' | 'newFrom'> {
  return {
    conversationId: rewritten?.conversationId ?? '',
    model: (rewritten?.model ?? '').slice(0, MAX_MODEL_CHARS),
    stream: rewritten?.stream ?? false,
    messages: rewritten?.messages.length ?? 0,
    outcomes: rewritten?.outcomes ?? [],
    newFrom: rewritten === null ? 0 : newTextsFrom(rewritten),
  };
}

/**
 * Index of the first text that is new: this process does not know it, and no answer of the model's stands behind it. After a
 * restart, on another replica and in shadow mode the texts of older turns are unknown, but not new.
 */
function newTextsFrom({ outcomes, newFrom, messages }: Rewritten): number {
  const tail = tailOf(messages);
  const behind = outcomes.findIndex(({ messageIndex }) => messageIndex >= tail);
  return Math.max(newFrom, behind < 0 ? outcomes.length : behind);
}
