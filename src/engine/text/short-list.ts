/**
 * Maximum number of words in a reason, and of characters in total. More would cost tokens in every marker. Set by hand.
 */
const MOST_WORDS = 6;
const MOST_CHARS = 20;

/**
 * Joins the first six words, without repetitions and without words that would make the list longer than twenty
 * characters.
 */
export function shortList(words: readonly string[]): string {
  let out = '';
  for (const word of words.slice(0, MOST_WORDS)) {
    if (out.length + word.length + 1 > MOST_CHARS || out.includes(word)) continue;
    out += out === '' ? word : ` ${word}`;
  }
  return out;
}
