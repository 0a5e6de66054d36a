/** The input of the choice. Arrays are indexed by line. */
export interface Choice {
  readonly n: number;
  /** The loss if the line is cut. */
  readonly value: Float64Array;
  /** Tokens saved if the line is cut. */
  readonly tokens: Float64Array;
  /** Size of the line in the choice: between its tokens and its length. */
  readonly size: Float64Array;
  /** Non-zero if the line must stay. */
  readonly keep: Uint8Array;
  /** Non-zero if the line is cut or kept together with the line above. */
  readonly glued: Uint8Array;
  /** The size of a marker. */
  readonly markerSize: number;
  /** Value of one saved unit of `size`, in units of `value`. */
  readonly price: number;
  readonly budget: number;
}

/** A run of lines to cut: its first and last line index. */
export interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * Steps of the bisection that finds the charge at which a choice fits its budget. Set by hand: the final interval is a
 * millionth of the first.
 */
const ROUNDS = 20;
/** Charges that differ by less are considered equal. Set by hand, like the next. */
const NEGLIGIBLE = 1e-9;
/** Minimum saving of a run added to use up the budget, as a multiple of the marker's size. */
const LEAST_MARKERS = 1.5;

/**
 * Chooses the runs to cut that save the most for the least loss of value, after marker costs and within the budget.
 * Dynamic programming over two states (kept, cut) finds the optimum without a budget; with one, it is approximated.
 */
export function chooseRuns(choice: Choice): Run[] {
  if (choice.n === 0 || choice.budget <= 0) return [];
  const cut = new Uint8Array(choice.n);
  const free = partition(choice, 0, cut);
  if (free <= choice.budget) return runsOf(cut);
  // A higher charge per cut line gives a smaller choice, and each choice contains all smaller ones. Find the largest
  // choice that fits, then add runs to it from the smallest one that does not fit.
  let low = 0;
  let high = 0;
  for (let i = 0; i < choice.n; i++) high = Math.max(high, choice.price * (choice.size[i] ?? 0));
  const over = cut.slice();
  let within = new Uint8Array(choice.n);
  for (let round = 0; round < ROUNDS && high - low > NEGLIGIBLE; round++) {
    const charge = (low + high) / 2;
    if (partition(choice, charge, cut) <= choice.budget) {
      high = charge;
      within = cut.slice();
    } else {
      low = charge;
      over.set(cut);
    }
  }
  fillUp(choice, within, over);
  return runsOf(within);
}

/**
 * Finds the best cut if each cut line costs an extra charge. Writes flags to `cut` and returns the number of cut lines.
 */
function partition(choice: Choice, charge: number, cut: Uint8Array): number {
  const { n, value, size, keep, glued, price } = choice;
  const opening = choice.markerSize * price;
  const from = new Uint8Array(n); // bit 0: best kept state comes from cut; bit 1: best cut state comes from cut
  let keptScore = 0;
  let cutScore = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    const switchCost = glued[i] ? Number.POSITIVE_INFINITY : 0;
    const keptAfterCut = cutScore - switchCost;
    const cutAfterKept = i === 0 ? -opening : keptScore - switchCost - opening;
    let bits = 0;
    let nextKeptScore = keptScore;
    if (keptAfterCut > keptScore) {
      nextKeptScore = keptAfterCut;
      bits = 1;
    }
    let nextCutScore = cutAfterKept;
    if (cutScore > cutAfterKept) {
      nextCutScore = cutScore;
      bits |= 2;
    }
    nextCutScore += price * (size[i] ?? 0) - (value[i] ?? 0) - charge;
    if (keep[i]) nextCutScore = Number.NEGATIVE_INFINITY;
    from[i] = bits;
    keptScore = nextKeptScore;
    cutScore = nextCutScore;
  }
  let state = cutScore > keptScore ? 1 : 0;
  let lines = 0;
  for (let i = n - 1; i >= 0; i--) {
    cut[i] = state;
    lines += state;
    const bits = from[i] ?? 0;
    state = state === 1 ? bits >> 1 : bits & 1;
  }
  return lines;
}

/**
 * Adds runs that only `over` cuts to `within`, lowest value per size first. A run that exceeds the budget is added in
 * part.
 */
function fillUp(choice: Choice, within: Uint8Array, over: Uint8Array): void {
  let left = choice.budget;
  for (const isCut of within) left -= isCut;
  const extra = over.map((isCut, i) => (isCut === 1 && within[i] === 0 ? 1 : 0));
  const runs = runsOf(extra)
    .map((run) => ({ run, loss: lossOf(choice, run) }))
    .sort((a, b) => a.loss - b.loss || a.run.from - b.run.from);
  for (const { run } of runs) {
    if (left <= 0) return;
    const joined = within[run.from - 1] === 1 || within[run.to + 1] === 1;
    const whole = run.to - run.from + 1 <= left;
    let { from, to } = run;
    if (!whole) {
      if (within[run.to + 1] === 1 && within[run.from - 1] !== 1) from = run.to - left + 1;
      else to = run.from + left - 1;
      while (from <= to && from > run.from && choice.glued[from]) from++;
      while (from <= to && to < run.to && choice.glued[to + 1]) to--;
    }
    let saved = joined ? choice.markerSize : 0;
    for (let i = from; i <= to; i++) saved += choice.size[i] ?? 0;
    if (from > to || saved < choice.markerSize * LEAST_MARKERS) continue;
    for (let i = from; i <= to; i++) within[i] = 1;
    left -= to - from + 1;
  }
}

function lossOf(choice: Choice, run: Run): number {
  let value = 0;
  let size = 1;
  for (let i = run.from; i <= run.to; i++) {
    value += choice.value[i] ?? 0;
    size += choice.size[i] ?? 0;
  }
  return value / size;
}

export function runsOf(flags: Uint8Array): Run[] {
  const out: Run[] = [];
  let from = -1;
  for (let i = 0; i <= flags.length; i++) {
    const on = i < flags.length && flags[i] === 1;
    if (on && from < 0) from = i;
    if (!on && from >= 0) {
      out.push({ from, to: i - 1 });
      from = -1;
    }
  }
  return out;
}
