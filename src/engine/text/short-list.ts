/** Most words of a reason. More would cost tokens in every marker. Chosen. */
const MOST_WORDS = 6;
const MOST_CHARS = 20;

/** The first few of some words, each once, as long as they fit into twenty characters. */
export function shortList(words: readonly string[]): string {
  let out = '';
  for (const word of words.slice(0, MOST_WORDS)) {
    if (out.length + word.length + 1 > MOST_CHARS || out.includes(word)) continue;
    out += out === '' ? word : ` ${word}`;
  }
  return out;
}
