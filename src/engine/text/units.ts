/** The division of a text into blocks. */
export interface Units {
  /** Block number of each line; blocks are contiguous and ascend from 0. */
  readonly unit: Int32Array;
  readonly count: number;
  /** Index of the enclosing block (a method's class) per block, or -1. */
  readonly parent: Int32Array;
  /** 1 if a line must not be separated from the preceding line (inside a fence, a hunk, an element). */
  readonly glued: Uint8Array;
  /** What each line declares, one of `DECLARED`; all 0 for texts other than code. */
  readonly declared: Uint8Array;
  /** 1 if a line opens a block: a declaration, a heading. */
  readonly head: Uint8Array;
}

/** Codes of what a line declares. */
export const DECLARED = { none: 0, import: 1, type: 2, function: 3 } as const;

/** Collects the blocks of a text, line by line. */
export class UnitBuilder {
  readonly unit: Int32Array;
  readonly glued: Uint8Array;
  readonly head: Uint8Array;
  declared: Uint8Array;
  readonly #parents: number[] = [];

  constructor(n: number) {
    this.unit = new Int32Array(n);
    this.glued = new Uint8Array(n);
    this.head = new Uint8Array(n);
    this.declared = new Uint8Array(n);
  }

  get last(): number {
    return this.#parents.length - 1;
  }

  open(parent: number): number {
    this.#parents.push(parent);
    return this.last;
  }

  done(): Units {
    const { unit, glued, head, declared } = this;
    return { unit, count: this.#parents.length, parent: Int32Array.from(this.#parents), glued, head, declared };
  }
}

/** Divides a text into blocks of equal length. */
export function evenUnits(n: number, lines: number): Units {
  const count = Math.max(1, Math.ceil(n / lines));
  const unit = new Int32Array(n);
  for (let i = 0; i < n; i++) unit[i] = Math.floor(i / lines);
  const parent = new Int32Array(count).fill(-1);
  return { unit, count, parent, glued: new Uint8Array(n), head: new Uint8Array(n), declared: new Uint8Array(n) };
}
