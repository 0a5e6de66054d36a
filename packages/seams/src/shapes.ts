/** Dollars of this calendar month (UTC), and the part of them that repeated finished work. */
export interface MonthShown {
  readonly finished: number;
  readonly dollars: number;
}
