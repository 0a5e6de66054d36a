import { estimateTokens } from '../../engine/text/tokens.ts';
import { PrunerError } from '../../errors/errors.ts';
import { type EventLog, MCP_RUN } from '../event-log.ts';
import type { LedgerSink } from '../ports/request-facts.ts';
import type { Clock, EventRecord } from '../ports.ts';
import type { BulkPruner, Pruner, PruneTextInput, PruneTextResult, RecoverInput } from './api.ts';

/**
 * Wraps a pruner so that it emits events. Events contain names, numbers and codes, never client text.
 *
 * @param onPruned - called for each text that was pruned or returned whole
 */
export function prunerWithEvents(
  pruner: Pruner & BulkPruner,
  events: Pick<EventLog, 'add' | 'runOf'>,
  clock: Clock,
  onPruned: (result: PruneTextResult) => void = () => {},
): Pruner & BulkPruner {
  const now = (): number => clock.nowMs();
  const recovered = (input: RecoverInput): EventRecord => recoveredEvent(input, events.runOf(input.pruneId), now());
  const refused = (inputs: readonly RecoverInput[], cause: unknown): EventRecord => {
    const pruneId = refusedId(inputs, cause);
    return refusedEvent(pruneId, cause, events.runOf(pruneId), now());
  };
  const recovering = async <T>(inputs: readonly RecoverInput[], work: Promise<T>): Promise<T> => {
    try {
      const result = await work;
      events.add(inputs.map(recovered));
      return result;
    } catch (cause) {
      events.add([refused(inputs, cause)]);
      throw cause;
    }
  };
  return {
    async pruneText(input, signal) {
      const result = await pruner.pruneText(input, signal);
      events.add([prunedEvent(input, result, now())]);
      onPruned(result);
      return result;
    },
    async pruneAll(inputs, signal) {
      const results = await pruner.pruneAll(inputs, signal);
      events.add(
        inputs.flatMap((input, i) => {
          const result = results[i];
          return result ? [prunedEvent(input, result, now())] : [];
        }),
      );
      for (const result of results) onPruned(result);
      return results;
    },
    async lineCount(pruneId) {
      try {
        return await pruner.lineCount(pruneId);
      } catch (cause) {
        events.add([refused([{ pruneId, ranges: [], numbered: false }], cause)]);
        throw cause;
      }
    },
    recover: (input) => recovering([input], pruner.recover(input)),
    recoverAll: (inputs) => recovering(inputs, pruner.recoverAll(inputs)),
  };
}

/** Clients may send arbitrary strings as ids; only well-formed ids are reported. */
function shownId(pruneId: string): string {
  return /^prn_[0-9A-Za-z]{12}$/.test(pruneId) ? pruneId : '';
}

function prunedEvent(input: PruneTextInput, result: PruneTextResult, tsMs: number): EventRecord {
  return {
    tsMs,
    runId: MCP_RUN,
    opId: null,
    kind: 'prune_text',
    level: result.stats.usedFallback ? 'warn' : 'info',
    payload: {
      prune_id: result.pruneId,
      source_type: input.sourceType ?? null,
      lines: result.stats.originalLines,
      kept_lines: result.stats.keptLines,
      tokens_before: result.stats.tokensEstBefore,
      tokens_after: result.stats.tokensEstAfter,
      elapsed_ms: result.stats.elapsedMs,
      used_fallback: result.stats.usedFallback,
      warnings: result.warnings,
    },
  };
}

function recoveredEvent({ pruneId, ranges }: RecoverInput, runId: string, tsMs: number): EventRecord {
  const lines = ranges.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
  const payload = { prune_id: pruneId, ranges: ranges.length, lines };
  return { tsMs, runId, opId: null, kind: 'recovered', level: 'info', payload };
}

function refusedEvent(pruneId: string, cause: unknown, runId: string, tsMs: number): EventRecord {
  const reason = cause instanceof PrunerError ? cause.code : 'internal_error';
  const payload = { prune_id: shownId(pruneId), reason };
  return { tsMs, runId, opId: null, kind: 'recover_failed', level: 'warn', payload };
}

/** The prune id of the input that failed. With several inputs, the error's `index` identifies it. */
function refusedId(inputs: readonly RecoverInput[], cause: unknown): string {
  const index = cause instanceof PrunerError && typeof cause.details.index === 'number' ? cause.details.index : 0;
  return inputs[index]?.pruneId ?? '';
}

/** Wraps a pruner so that it reports recoveries to the ledger, where each recovered line counts as regret. */
export function prunerWithLedger(
  pruner: Pruner & BulkPruner,
  ledger: Pick<LedgerSink, 'recovered'>,
): Pruner & BulkPruner {
  return {
    ...pruner,
    async recover(input) {
      const text = await pruner.recover(input);
      ledger.recovered(input.pruneId, estimateTokens(text));
      return text;
    },
    async recoverAll(inputs) {
      const texts = await pruner.recoverAll(inputs);
      for (const [i, text] of texts.entries()) ledger.recovered(inputs[i]?.pruneId ?? '', estimateTokens(text));
      return texts;
    },
  };
}
