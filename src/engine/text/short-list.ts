/** Limits for the words in a reason and their total characters. More would cost tokens in every marker. Set by hand. */
const MOST_WORDS = 6;
const MOST_CHARS = 20;

/** Joins up to six distinct words, skipping words that would exceed the total length. */
export function shortList(words: readonly string[]): string {
  let out = '';
  for (const word of words.slice(0, MOST_WORDS)) {
    if (out.length + word.length + 1 > MOST_CHARS || out.includes(word)) continue;
    out += out === '' ? word : ` ${word}`;
  }
  return out;
}
