/** A promise of the product that a case saw broken; `rule` is the promise in a word or two. */
export class Broken extends Error {
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

/** Fails the case unless a promise was kept. */
export function must(kept: boolean, rule: string, detail: () => string = () => ''): asserts kept {
  if (!kept) throw new Broken(rule, detail());
}

/** Where two texts begin to differ, with what stands there. */
export function difference(got: string, wanted: string): string {
  let at = 0;
  while (at < got.length && got.charCodeAt(at) === wanted.charCodeAt(at)) at++;
  const show = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 40), at + 80));
  return `at ${at} of ${got.length}/${wanted.length}: got ${show(got)}, wanted ${show(wanted)}`;
}

/** The bounds of a result and the order of its cuts. */
export function checkCuts(
  cuts: readonly { readonly startLine: number; readonly endLine: number; readonly reason: string }[],
  lines: number,
  { maxPruneRatio, minKeepLines }: { readonly maxPruneRatio: number; readonly minKeepLines: number },
): void {
  let last = -1;
  let gone = 0;
  for (const { startLine, endLine, reason } of cuts) {
    must(startLine > last + 1 && endLine >= startLine && endLine <= lines, 'order of cuts', () => JSON.stringify(cuts));
    must(reason !== '' && reason.length <= 120 && !/[\r\n⟦⟧]/.test(reason), 'reason', () => JSON.stringify(reason));
    last = endLine;
    gone += endLine - startLine + 1;
  }
  const most = Math.floor(maxPruneRatio * lines + 1e-9);
  must(gone <= most, 'max_prune_ratio', () => `${gone} of ${lines} lines went, at most ${most} may`);
  must(gone === 0 || lines - gone >= minKeepLines, 'min_keep_lines', () => `${lines - gone} of ${lines} lines stay`);
}
