/** The value of a label beyond its bound of distinct values. */
export const OTHER = 'other';

const MAX_LENGTH = 64;

/**
 * Bounds the number of a label's values, whatever clients send: the first `limit` values keep their name, all later
 * ones become `other`. Names are reduced to 64 characters of a plain alphabet.
 */
export class BoundedLabels {
  readonly #seen = new Set<string>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The label value of a name; an empty name is `none`. */
  of(name: string): string {
    if (name === '') return 'none';
    if (this.#seen.has(name)) return name;
    const clean = name.slice(0, MAX_LENGTH).replaceAll(/[^\w.:/@+-]/g, '_');
    if (this.#seen.has(clean)) return clean;
    if (this.#seen.size >= this.#limit) return OTHER;
    this.#seen.add(clean);
    return clean;
  }
}
