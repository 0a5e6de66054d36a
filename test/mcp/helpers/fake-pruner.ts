import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Pruner, PruneTextInput, PruneTextResult, RecoverInput } from '../../../src/core/calls/api.ts';
import { splitLines } from '../../../src/engine/text/lines.ts';
import { annotate, renderRanges, renderText } from '../../../src/engine/text/render.ts';
import { PrunerError } from '../../../src/errors/errors.ts';

/** What the fake does for a goal of this name instead of pruning. */
export const goals = {
  /** Throws, as a bug would, with a secret in the message. */
  explode: 'explode',
  /** Waits until the call is cancelled. */
  hang: 'hang',
} as const;

const hint = 'Do not retry: read the file again.';

/** Prunes the middle of a text and remembers it in memory; enough of a pruner to tell whether a face is right. */
export class FakePruner implements Pruner {
  readonly inputs: PruneTextInput[] = [];
  readonly #texts = new Map<string, string>();
  #onHang: () => void = () => {};
  #onAbort: () => void = () => {};
  /** Settles when a call with the goal `hang` has begun. */
  readonly hanging = new Promise<void>((resolve) => {
    this.#onHang = resolve;
  });
  /** Settles when that call was told to stop. */
  readonly aborted = new Promise<void>((resolve) => {
    this.#onAbort = resolve;
  });

  async pruneText(input: PruneTextInput, signal?: AbortSignal): Promise<PruneTextResult> {
    this.inputs.push(input);
    if (input.goalHint === goals.explode) throw new Error('secret of /home/someone');
    if (input.goalHint === goals.hang && signal) {
      this.#onHang();
      await once(signal, 'abort');
      this.#onAbort();
      throw signal.reason;
    }
    const lines = splitLines(input.text);
    const pruneId = `prn_${createHash('sha256').update(input.text).digest('hex').slice(0, 12).toUpperCase()}`;
    this.#texts.set(pruneId, input.text);
    const cuts = lines.count > 3 ? [{ startLine: 2, endLine: lines.count - 1, reason: 'hors focus' }] : [];
    const annotations = annotate(cuts, pruneId);
    const prunedLines = cuts.length > 0 ? lines.count - 2 : 0;
    return {
      pruneId,
      prunedText: renderText(lines, annotations, input.options),
      annotations,
      stats: {
        originalLines: lines.count,
        keptLines: lines.count - prunedLines,
        prunedLines,
        prunedRatio: lines.count === 0 ? 0 : Math.round((prunedLines / lines.count) * 10_000) / 10_000,
        tokensEstBefore: 12,
        tokensEstAfter: 5,
        elapsedMs: 1,
        usedFallback: false,
        extra: { backend: 'heuristic' },
      },
      warnings: ['cache_hit'],
    };
  }

  async lineCount(pruneId: string): Promise<number> {
    await this.recover({ pruneId, ranges: [], numbered: false }); // fails as it would
    return splitLines(this.#texts.get(pruneId) ?? '').count;
  }

  async recover({ pruneId, ranges, numbered }: RecoverInput): Promise<string> {
    if (pruneId === 'prn_unavailable') throw new PrunerError('recovery_unavailable', { prune_id: pruneId });
    for (const { startLine, endLine } of ranges) {
      if (startLine < 1 || startLine > endLine) throw new PrunerError('invalid_range', { prune_id: pruneId, hint });
    }
    const text = this.#texts.get(pruneId);
    if (text === undefined) throw new PrunerError('prune_id_not_found', { prune_id: pruneId, hint });
    return renderRanges(splitLines(text), ranges, numbered);
  }
}
