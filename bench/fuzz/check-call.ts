import type { Pruner, PruneTextInput, PruneTextResult } from '../../src/core/calls/api.ts';
import { createPruner } from '../../src/core/calls/prune-text.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import { PrunerError } from '../../src/errors/errors.ts';
import type { CallCase } from './cases.ts';
import { Broken, checkCuts, difference, must } from './check.ts';
import { applyEdits, editsOf, linesOf, markerOf } from './expected.ts';
import type { Ground } from './ground.ts';

/** `prune_text`, then `recover_text`: what is shown, what is said of it, and what comes back. */
export async function checkCall(given: CallCase, ground: Ground): Promise<void> {
  const { main, other } = ground.stores;
  const onFailure = (reason: string, cause: unknown): never => {
    throw new Broken('no failure inside', `${reason}: ${String(cause)}`);
  };
  const pruner = createPruner({
    store: main,
    decisions: ground.decisions(main),
    maxInputChars: given.maxInputChars,
    onFailure,
  });
  const input: PruneTextInput = {
    text: given.text,
    goalHint: given.goal,
    options: {
      maxPruneRatio: given.maxPruneRatio,
      minKeepLines: given.minKeepLines,
      timeoutMs: 60_000,
      annotateLines: given.annotateLines,
      includeMarkers: given.includeMarkers,
    },
    ...(given.sourceType && { sourceType: given.sourceType }),
  };
  const result = await pruner.pruneText(input);
  checkResult(given, result);
  await checkRecovery(given, result, pruner);
  const lost = createPruner({
    store: other,
    decisions: ground.decisions(other),
    maxInputChars: given.maxInputChars,
    onFailure,
  });
  for (const again of [await pruner.pruneText(input), await lost.pruneText(input)]) {
    must(again.prunedText === result.prunedText && again.pruneId === result.pruneId, 'same answer again');
  }
}

function checkResult(given: CallCase, { pruneId, prunedText, annotations, stats, warnings }: PruneTextResult): void {
  const { text } = given;
  const lines = linesOf(text);
  must(/^prn_[0-9A-HJKMNP-TV-Z]{12}$/.test(pruneId), 'prune_id', () => pruneId);
  checkCuts(annotations, lines.length, given);
  for (const { marker, ...cut } of annotations) {
    must(marker === markerOf(pruneId, cut), 'marker of an annotation', () =>
      difference(marker, markerOf(pruneId, cut)),
    );
  }
  const noop = warnings.length > 0;
  must(!noop || annotations.length === 0, 'no cut where something is warned of');
  must(stats.usedFallback === noop, 'used_fallback', () => String(warnings));
  const wanted = noop ? text : applyEdits(text, editsOf({ pruneId, text, cuts: annotations }, given));
  must(prunedText === wanted, 'kept lines and markers', () => difference(prunedText, wanted));
  const gone = annotations.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
  must(
    stats.originalLines === lines.length && stats.prunedLines === gone && stats.keptLines === lines.length - gone,
    'stats',
    () => JSON.stringify(stats),
  );
  if (annotations.length > 0 && !given.annotateLines) {
    const [before, after] = [estimateTokens(text), estimateTokens(prunedText)];
    must(after < before, 'never more tokens', () => `${before} became ${after}`);
  }
}

async function checkRecovery(given: CallCase, { pruneId, annotations, prunedText }: PruneTextResult, pruner: Pruner) {
  const lines = linesOf(given.text);
  const bare = lines.map((line) => line.replace(/\n$/, ''));
  const recover = (startLine: number, endLine: number, numbered = false): Promise<string> =>
    pruner.recover({ pruneId, ranges: [{ startLine, endLine }], numbered });
  const all = await recover(1, lines.length + 7);
  must(all === bare.join('\n'), 'recovers the whole text', () => difference(all, bare.join('\n')));
  for (const { startLine, endLine } of annotations) {
    const raw = await recover(startLine, endLine);
    must(raw === bare.slice(startLine - 1, endLine).join('\n'), 'recovers each cut', () => `${startLine}-${endLine}`);
  }
  if (given.includeMarkers && !given.annotateLines) {
    let rebuilt = prunedText;
    for (const { marker, startLine, endLine } of annotations) {
      rebuilt = rebuilt.replace(marker, () => bare.slice(startLine - 1, endLine).join('\n'));
    }
    must(rebuilt === given.text, 'kept and recovered lines rebuild the original', () =>
      difference(rebuilt, given.text),
    );
  }
  const ranges = given.ranges.map(({ start, length }) => ({ startLine: start, endLine: start + length - 1 }));
  // a range may end beyond the last line, but not begin there
  const beyond = Math.max(lines.length, 1) + 1;
  const fits = ranges.every(({ startLine, endLine }) => startLine >= 1 && startLine < beyond && endLine >= startLine);
  const asked = await refusal(() => pruner.recover({ pruneId, ranges, numbered: true }));
  must(
    asked.code === (fits ? '' : 'invalid_range'),
    'invalid_range',
    () => `${asked.code} for ${JSON.stringify(ranges)}`,
  );
  if (fits) {
    const wanted = ranges.flatMap(({ startLine, endLine }) =>
      bare.slice(startLine - 1, endLine).map((line, i) => `${startLine + i}│ ${line}`),
    );
    must(asked.text === wanted.join('\n'), 'ranges in the order asked', () =>
      difference(asked.text, wanted.join('\n')),
    );
  }
  const unknown = await refusal(() => pruner.recover({ pruneId: 'prn_000000000000', ranges: [], numbered: false }));
  must(unknown.code === 'prune_id_not_found', 'prune_id_not_found', () => unknown.code);
}

async function refusal(call: () => Promise<string>): Promise<{ readonly text: string; readonly code: string }> {
  try {
    return { text: await call(), code: '' };
  } catch (cause) {
    if (cause instanceof PrunerError) return { text: '', code: cause.code };
    throw cause;
  }
}
