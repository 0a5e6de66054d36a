import type { LedgerStore, LedgerSum, LedgerTurn } from '../core/ports/ledger.ts';

/** Figures of one run of a command: only sums are kept. */
export class MemoryLedger implements LedgerStore {
  readonly #sums: LedgerSum[] = [];

  async add(_turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<void> {
    for (const sum of sums) this.#sums.push(sum);
  }

  async sums(): Promise<readonly LedgerSum[]> {
    return this.#sums;
  }

  async turns(): Promise<readonly LedgerTurn[]> {
    return [];
  }

  async conversations(): Promise<[]> {
    return [];
  }

  async cutIn(): Promise<null> {
    return null;
  }

  async steps(): Promise<[]> {
    return [];
  }

  addStep(): Promise<never> {
    return Promise.reject(new Error('nothing is learnt from what is over'));
  }
}
