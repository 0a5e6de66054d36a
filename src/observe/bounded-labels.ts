/** What a label says once it has taken as many values as it may. */
export const OTHER = 'other';

const MAX_LENGTH = 64;

/**
 * Keeps the number of values of a label bounded, whatever a client sends: the first `limit` values keep their name,
 * every later one is `other`. Names are cut to 64 characters of a plain alphabet.
 */
export class BoundedLabels {
  readonly #seen = new Set<string>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The label's value for a name; an empty name is `none`. */
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
