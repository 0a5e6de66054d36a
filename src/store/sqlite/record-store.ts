import type {
  ChildLogRecord,
  ChildSummary,
  ListedPrune,
  PruneSummary,
  Records,
  Reply,
  RunSummary,
  StoreAges,
  StoredChildLog,
} from '../../core/ports/records.ts';
import { decodeBody } from '../decision-codec.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import type { PruneListRow } from './summaries.ts';

const MAX_ROWS = 10_000;

/** `Records` on the tables of a store's file. */
export class FileRecords implements Records {
  readonly #access: Access;
  readonly #maxEntries: number;

  /** @param maxEntries - how many entries of agents are kept */
  constructor(access: Access, maxEntries: number) {
    this.#access = access;
    this.#maxEntries = maxEntries;
  }

  runs({ prefix, limit }: Parameters<Records['runs']>[0]): Promise<readonly RunSummary[]> {
    return this.#access.read(({ summaries }) => summaries.runs(prefix, bounded(limit)));
  }

  lastSeqOfRun(runId: string): Promise<number> {
    return this.#access.read(({ summaries }) => summaries.lastSeqOfRun(runId));
  }

  lastSeq(): Promise<number> {
    return this.#access.read(({ summaries }) => summaries.lastSeq());
  }

  prunes({ prefix, limit }: Parameters<Records['prunes']>[0]): Promise<readonly PruneSummary[]> {
    return this.#access.read(({ summaries }, nowMs) =>
      summaries.prunes(prefix, nowMs, bounded(limit)).map((row) => this.#summaryOf(row)),
    );
  }

  prunesByAge({ before, limit }: Parameters<Records['prunesByAge']>[0]): Promise<readonly ListedPrune[]> {
    return this.#access.read(({ summaries }, nowMs) =>
      summaries
        .prunesByAge(before ?? Number.MAX_SAFE_INTEGER, nowMs, bounded(limit))
        .map((row) => ({ ...this.#summaryOf(row), row: row.id })),
    );
  }

  ages(): Promise<StoreAges> {
    return this.#access.read(({ summaries }) => summaries.ages());
  }

  pruneState(pruneId: string): ReturnType<Records['pruneState']> {
    return this.#access.read(({ decisions }, nowMs) => {
      const until = decisions.pruneUntil(pruneId);
      if (until === undefined) return 'unknown';
      return this.#access.expiry('prune', pruneId, until) > nowMs ? 'alive' : 'expired';
    });
  }

  children({ prefix, limit }: Parameters<Records['children']>[0]): Promise<readonly ChildSummary[]> {
    return this.#access.read(({ childLogs }) => childLogs.children(prefix, bounded(limit)));
  }

  lastSeqOfChild(childId: string): Promise<number> {
    return this.#access.read(({ childLogs }) => childLogs.lastSeq(childId));
  }

  childLogs({ childId, fromSeq, limit }: Parameters<Records['childLogs']>[0]): Promise<readonly StoredChildLog[]> {
    return this.#access.read(({ childLogs }) => childLogs.list(childId, fromSeq, bounded(limit)));
  }

  async addChildLogs(entries: readonly ChildLogRecord[]): Promise<void> {
    if (entries.length === 0) return;
    await this.#access.write(({ childLogs }) => childLogs.add(entries, this.#maxEntries), {
      waitMs: BACKGROUND_WAIT_MS,
    });
  }

  claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null> {
    return this.#access.write(({ replies }, nowMs) => replies.claim(tool, key, argsHash, nowMs, nowMs + ttlMs), {
      verify: true,
    });
  }

  holdReply(tool: string, key: string, ttlMs: number): Promise<void> {
    return this.#access.write(({ replies }, nowMs) => replies.hold(tool, key, nowMs + ttlMs));
  }

  keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string> {
    return this.#access.write(({ replies }, nowMs) => replies.keep(tool, key, argsHash, text, nowMs + ttlMs), {
      verify: true,
    });
  }

  dropReply(tool: string, key: string, kept: boolean): Promise<void> {
    return this.#access.write(({ replies }) => replies.drop(tool, key, kept));
  }

  #summaryOf(row: PruneListRow): PruneSummary {
    const { tool, sourceType, lines, keptLines } = decodeBody(row.decision_key, row.prune_id, row.body);
    const expiresMs = this.#access.expiry('prune', row.prune_id, row.expires_ms);
    return { pruneId: row.prune_id, tool, sourceType, lines, keptLines, createdMs: row.created_ms, expiresMs };
  }
}

function bounded(limit: number): number {
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_ROWS);
}
