import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type {
  LedgerState,
  LedgerStore,
  LedgerSum,
  RequestsCost,
  SettleQuery,
  SettleWork,
} from 'mcp-pruner/core/ports/ledger-store.ts';

/** In-memory ledger for a single command: keeps sums, and the state of conversations and models. */
export class MemoryLedger implements LedgerStore {
  readonly #sums: LedgerSum[] = [];
  readonly #states = new Map<string, LedgerState>();

  async settle({ states, lineages }: SettleQuery, work: SettleWork): Promise<number> {
    const requested = [...states].map(([name, version]) => ({ state: this.#states.get(name), version }));
    const all = [...this.#states.values()];
    const settled = work({
      states: requested.flatMap(({ state, version }) => (state && state.version !== version ? [state] : [])),
      unchanged: new Set(requested.flatMap(({ state, version }) => (state?.version === version ? [state.name] : []))),
      newest: lineages.flatMap((lineage) => all.filter((one) => one.lineage === lineage).slice(-1)),
      waiting: [],
      seen: new Set(),
      others: false,
    });
    for (const state of settled.states) {
      this.#states.delete(state.name); // moves the state to the end, as the newest
      this.#states.set(state.name, state);
    }
    return this.add(settled.turns, settled.sums);
  }

  async add(_turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number> {
    for (const sum of sums) this.#sums.push(sum);
    return 0;
  }

  async sums(): Promise<readonly LedgerSum[]> {
    return this.#sums;
  }

  async totals(): Promise<readonly LedgerSum[]> {
    const all = this.#sums.filter(({ slice }) => slice === 'all');
    return [
      ...all.map((sum) => ({ ...sum, project: '' })),
      ...all.map((sum) => ({ ...sum, day: '' })),
      ...this.#sums.filter(({ slice }) => slice !== 'all'),
    ];
  }

  async spent(): Promise<[]> {
    return [];
  }

  async costOf(): Promise<RequestsCost> {
    return { requests: 0, unpriced: 0, dollars: 0, dollarsWithout: 0 };
  }

  async addRegret(): Promise<void> {}

  async processes(): Promise<number> {
    return 0;
  }

  async turns(): Promise<readonly LedgerTurn[]> {
    return [];
  }

  async noteSent(): Promise<void> {}

  async lastSent(): Promise<[]> {
    return [];
  }

  async conversations(): Promise<[]> {
    return [];
  }

  async cutIn(): Promise<null> {
    return null;
  }
}
