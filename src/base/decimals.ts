const MOST = 6;

/**
 * Common number of decimals for a column of dollars: enough for two significant digits of the smallest amount, but
 * limited by the largest.
 */
export function columnDecimals(dollars: readonly number[]): number {
  const sizes = dollars.map(Math.abs).filter((size) => size > 0);
  if (sizes.length === 0) return 2;
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const needed = Math.max(2, 1 - Math.floor(Math.log10(least)));
  return Math.min(needed, most >= 100 ? 2 : most >= 1 ? 3 : MOST);
}

/** Formats dollars: `$1,234.50` or `-$0.05`. */
export function dollarWords(dollars: number, decimals: number): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return `${dollars < 0 ? '-' : ''}$${Math.abs(dollars).toLocaleString('en-US', digits)}`;
}

/** Formats a share in percent with one decimal, such as `6.1`; amounts below half a percent are not shown exactly. */
export function points(share: number): string {
  return share > 0 && share < 0.005 ? '<0.5' : (share * 100).toFixed(1);
}
