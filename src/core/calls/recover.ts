import type { FailureReporter } from '../../base/failures.ts';
import { type Lines, splitLines, startOf } from '../../engine/text/lines.ts';
import { renderRanges } from '../../engine/text/render.ts';
import { type ErrorCode, PrunerError, reasonOf } from '../../errors/errors.ts';
import { textHash } from '../hash.ts';
import type { Store } from '../ports.ts';
import { givenOutMark } from '../result-marks.ts';
import type { RecoverInput } from './api.ts';

interface RecoverOptions {
  readonly store: Store;
  /** Reports a fault that does not affect the caller; `reason` is a short constant code. */
  readonly onFailure: FailureReporter;
}

/** Advice for lines that cannot be recovered. */
const ELSEWHERE = 'Do not retry; read the file again or run the command again.';
/**
 * Ranges may overlap and repeat. Together they return at most this multiple of the text, or this many characters,
 * whichever is more.
 */
const MAX_TIMES = 4;
const MAX_CHARS = 4_000_000;

/**
 * Returns the original lines behind a prune id.
 *
 * @throws PrunerError `invalid_range`, `prune_id_not_found`, `recovery_unavailable`, each with a `hint` that says what
 * to do
 */
export async function recover(options: RecoverOptions, input: RecoverInput): Promise<string> {
  checkRanges(input);
  const raw = await read(options, input);
  markServed(options, [raw], [input]);
  return raw;
}

/**
 * Like `recover` for each input, all or none.
 *
 * @throws PrunerError like `recover`, with the `index` of the input that failed; `invalid_range` if the combined ranges
 * exceed the limit for one answer
 */
export async function recoverAll(options: RecoverOptions, inputs: readonly RecoverInput[]): Promise<string[]> {
  await forEach(inputs, checkRanges);
  const served: string[] = [];
  let chars = 0;
  await forEach(inputs, async (input) => {
    const raw = await read(options, input);
    chars += raw.length;
    const hint = `The texts add up to more than ${MAX_CHARS} characters. Ask for fewer at a time.`;
    if (chars > MAX_CHARS) throw failure('invalid_range', input.pruneId, hint);
    served.push(raw);
  });
  markServed(options, served, inputs);
  return served;
}

/** Processes inputs sequentially; an error carries the index of the input that failed. */
async function forEach(inputs: readonly RecoverInput[], work: (input: RecoverInput) => unknown): Promise<void> {
  for (const [index, input] of inputs.entries()) {
    try {
      await work(input);
    } catch (cause) {
      if (!(cause instanceof PrunerError)) throw cause;
      throw new PrunerError(cause.row, { ...cause.details, index }, { cause });
    }
  }
}

function checkRanges({ pruneId, ranges }: RecoverInput): void {
  const wrong = ranges.find(({ startLine, endLine }) => startLine < 1 || endLine < startLine);
  if (!wrong) return;
  const got = `${wrong.startLine}-${wrong.endLine}`;
  throw failure('invalid_range', pruneId, `Lines count from 1 and start_line must not exceed end_line; got ${got}.`);
}

/** Number of lines of the text behind a prune id. @throws PrunerError `prune_id_not_found`, `recovery_unavailable` */
export async function lineCount(options: RecoverOptions, pruneId: string): Promise<number> {
  return splitLines(await findOriginal(options, pruneId)).count;
}

async function read(options: RecoverOptions, { pruneId, ranges, numbered }: RecoverInput): Promise<string> {
  const text = await findOriginal(options, pruneId);
  const lines = splitLines(text);
  const beyond = ranges.find(({ startLine }) => startLine > Math.max(lines.count, 1));
  if (beyond) {
    const hint = `${beyond.startLine}-${beyond.endLine} begins beyond the end: the text has ${lines.count} lines.`;
    throw failure('invalid_range', pruneId, hint);
  }
  if (sizeOf(lines, ranges) > Math.max(MAX_TIMES * text.length, MAX_CHARS)) {
    const hint = `The ranges add up to far more than the text, which has ${lines.count} lines. Ask for each line once.`;
    throw failure('invalid_range', pruneId, hint);
  }
  return renderRanges(lines, ranges, numbered);
}

/**
 * Marks texts and their originals as recovered. If this fails, the recovered text may be pruned again when it reappears
 * in a later request.
 */
function markServed(
  { store, onFailure }: RecoverOptions,
  texts: readonly string[],
  inputs: readonly RecoverInput[],
): void {
  const marks = [...texts.map(textHash), ...inputs.map(({ pruneId }) => givenOutMark(pruneId))];
  store.markServed(marks).catch((cause: unknown) => onFailure(reasonOf(cause), cause));
}

/** Total size of the requested ranges, in characters. */
function sizeOf(lines: Lines, ranges: RecoverInput['ranges']): number {
  let size = 0;
  for (const { startLine, endLine } of ranges) {
    size += startOf(lines, Math.min(endLine, lines.count) + 1) - startOf(lines, Math.min(startLine, lines.count + 1));
  }
  return size;
}

async function findOriginal({ store }: RecoverOptions, pruneId: string): Promise<string> {
  let text: string | null;
  try {
    text = await store.findOriginal(pruneId);
  } catch (cause) {
    throw failure('recovery_unavailable', pruneId, `The originals cannot be read now. ${ELSEWHERE}`, { cause });
  }
  if (text !== null) return text;
  throw failure(
    'prune_id_not_found',
    pruneId,
    `This prune_id is unknown or has expired, or its text was damaged. ${ELSEWHERE}`,
  );
}

function failure(code: ErrorCode, pruneId: string, hint: string, options?: ErrorOptions): PrunerError {
  return new PrunerError(code, { code, prune_id: pruneId, hint }, options);
}
