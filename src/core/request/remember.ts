import type { Checkpoint, RememberedBody } from './prefix-memo.ts';
import { PrefixBytes } from './prefix-memo.ts';
import { CHECKPOINTS } from './read.ts';
import type { PersistedRequest } from './request.ts';
import { hasRawHistory } from './rewritten.ts';

/** Reading a smaller body again costs less than remembering it. */
export const MIN_REMEMBERED_BYTES = 64 * 1024;

type Validity = Pick<RememberedBody, 'epoch' | 'storedAtMs' | 'directives' | 'steps'>;

/** How long, and for which directives, a later request may continue from a body without asking the store. */
function validityOf({ request, failed }: PersistedRequest): Validity {
  const { state, steps, read } = request;
  const { match } = read;
  if (match && failed) {
    const { epoch, storedAtMs, directives, steps: held } = match.body;
    return { epoch, storedAtMs, directives, steps: held };
  }
  const storedAtMs = match?.body.storedAtMs ?? state.now;
  return { epoch: failed ? '' : state.epoch, storedAtMs, directives: state.directives.mark, steps: steps.mark };
}

/** The part of a forwarded body that is remembered; `null` where it is too small or no later body begins with it. */
export function bodyToRemember(persisted: PersistedRequest): RememberedBody | null {
  const { request, spliced } = persisted;
  const { body, dialect, read, found } = request;
  const { edits, outcomes, counts } = spliced;
  const { epoch, storedAtMs, directives, steps } = validityOf(persisted);
  const { match } = read;
  const { before, messages, previous } = read.scanned;
  // a request that continues from a stored answer is sent once: the next body begins with another answer
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
    rawHistory: hasRawHistory(request),
    edits,
    outcomes,
    checkpoints: [...known, ...checkpoints].slice(-CHECKPOINTS),
    epoch,
    storedAtMs,
    directives,
    steps,
  };
}
