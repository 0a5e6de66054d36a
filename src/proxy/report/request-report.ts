import type { CountAnswer } from '../../core/ports/request-facts.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import { tailOf } from '../../core/request/read.ts';
import type { Rewritten } from '../../core/request/rewritten.ts';
import type { AnsweredTools } from '../../core/shelf/watch.ts';
import type { Dialect, ProviderUsage } from '../../wires/dialects/dialect.ts';
import type { ProviderName } from '../../wires/providers/facts.ts';
import type { Exchange } from '../upstream/pass-on.ts';
import type { OpenFacts } from './ledger-facts.ts';

/** The report of one request: counts, names and codes; never a text or a credential. */
export interface RequestReport {
  readonly requestId: string;
  /** The child that sent it, if any. */
  readonly childId?: string | null;
  /** Its project, if data belongs to projects. */
  readonly project?: string | undefined;
  /** A page of another origin may have sent it; nothing of it may be stored. */
  readonly foreign: boolean;
  /** The wire of the request and its answer. */
  readonly wire: Dialect['name'];
  /** The provider that received it. */
  readonly cloud?: ProviderName;
  /** The conversation, derived from its beginning; `''` if the body was not read. */
  readonly conversationId: string;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: number;
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** The unpruned bytes were forwarded (`shadow`, or resent after a refusal). */
  readonly forwardedOriginal: boolean;
  /** The mode of its project was `shadow`; default: that of the server. */
  readonly shadow?: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly fallbacks: readonly string[];
  readonly pruneMs: number;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  /** Status sent to the client; 0 if it disconnected before. */
  readonly status: number;
  readonly end: Exchange['kind'];
  readonly upstreamError: string | null;
  readonly usage: ProviderUsage | null;
  /** For the ledger; `null` if nothing was read or generated. */
  readonly facts?: OpenFacts | null;
  /** For the tool shelf; absent if nothing was generated. */
  readonly tools?: AnsweredTools | undefined;
  /** The provider's token count of the unpruned body; absent if not requested. Never rejects. */
  readonly counted?: Promise<CountAnswer> | undefined;
}

/** Maximum number of reported characters of a model's name. */
const MAX_MODEL_CHARS = 200;

/** A report's fields about a request's content; `null` if it was not read. */
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
 * Index of the first text that is certainly new: unknown to this process, and without a model answer after it
 * (`mayBeNewFrom` in `ledger-facts.ts` requires only one of the two). After a restart, on another replica and in shadow
 * mode, texts of older turns are unknown but not new.
 */
function newTextsFrom({ outcomes, newFrom, messages }: Rewritten): number {
  const tail = tailOf(messages);
  const behind = outcomes.findIndex(({ messageIndex }) => messageIndex >= tail);
  return Math.max(newFrom, behind < 0 ? outcomes.length : behind);
}
