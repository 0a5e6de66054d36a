import type { DirectivesView } from '../ports/segments.ts';
import { PrefixBytes } from './prefix-bytes.ts';
import type { Checkpoint, RememberedBody } from './prefix-memo.ts';
import type { PreparedRequest } from './prepare-request.ts';
import { CHECKPOINTS, type IncomingRequest } from './read-request.ts';
import { hasRawPast } from './rewritten.ts';
import type { Spliced } from './splice.ts';

/** A smaller body with nothing to prune is walked faster than it is remembered. */
export const MIN_REMEMBERED_BYTES = 64 * 1024;

/** What the store says of itself. */
export interface StoreState {
  readonly epoch: string;
  readonly directives: DirectivesView;
  readonly now: number;
  /** Why it could not be asked, or `null`. */
  readonly failure: unknown;
}

type Validity = Pick<RememberedBody, 'epoch' | 'storedAtMs' | 'directives' | 'steps'>;

/** How long, and for which directives, a body may be gone on from without asking the store. */
export function validityOf(
  { epoch, directives, now }: StoreState,
  { read: { match }, steps }: PreparedRequest,
  failed: boolean,
): Validity {
  if (match && failed) {
    const { epoch: then, storedAtMs, directives: mark, steps: held } = match.body;
    return { epoch: then, storedAtMs, directives: mark, steps: held };
  }
  const storedAtMs = match?.body.storedAtMs ?? now;
  return { epoch: failed ? '' : epoch, storedAtMs, directives: directives.mark, steps: steps.mark };
}

/** What is kept of a body that was rewritten; `null` where it is not worth it, or nothing goes on from it. */
export function bodyToRemember(
  { body, dialect }: IncomingRequest,
  prepared: PreparedRequest,
  { edits, outcomes, counts }: Spliced,
  { epoch, storedAtMs, directives, steps }: Validity,
): RememberedBody | null {
  const { read, found } = prepared;
  const { match } = read;
  const { before, messages, previous } = read.scanned;
  // what goes on from an answer is sent once: the next body begins with another one
  if (previous !== '' || (outcomes.length === 0 && body.length < MIN_REMEMBERED_BYTES)) return null;
  const checkpoints: Checkpoint[] = read.marks.map(({ message, conversation, tokens }) => {
    const done = counts[found.filter(({ messageIndex }) => messageIndex <= message).length];
    return {
      at: messages[message]?.span.end ?? 0,
      messages: message + 1,
      edits: done?.edits ?? 0,
      outcomes: done?.outcomes ?? 0,
      tokens,
      conversation,
    };
  });
  const last = checkpoints.at(-1);
  if (!last) return null;
  const known = match ? match.body.checkpoints.filter(({ messages: count }) => count <= match.checkpoint.messages) : [];
  return {
    prefix: PrefixBytes.of(body, last.at, match?.body.prefix ?? null, match?.checkpoint.at ?? 0),
    dialect: dialect.name,
    before,
    messages,
    prefixes: read.prefixes,
    rawPast: hasRawPast(prepared),
    edits,
    outcomes,
    checkpoints: [...known, ...checkpoints].slice(-CHECKPOINTS),
    epoch,
    storedAtMs,
    directives,
    steps,
  };
}
