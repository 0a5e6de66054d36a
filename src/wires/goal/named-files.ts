/** Maximum number of characters searched for file names. */
export const MAX_NAMING_CHARS = 16_000;
/** Minimum length of a phrase, made of the words of a path, that counts as its name, in characters. */
const LEAST_PHRASE_CHARS = 8;
/** Minimum length of a name without an extension, in characters. */
const LEAST_NAME_CHARS = 6;

/**
 * Whether a text names a file: by its path, by its bare name, or by the words of its name ("security review" is
 * `security-review.md`). A path in the text must match the file's folder.
 */
export function namesFile(said: string, path: string): boolean {
  const text = said.slice(0, MAX_NAMING_CHARS).toLowerCase();
  const parts = path.toLowerCase().split(/[\\/]/).filter(Boolean);
  const name = parts.at(-1) ?? '';
  if (!name.includes('.') && name.length < LEAST_NAME_CHARS) return false;
  return hasName(text, name, parts.at(-2) ?? '') || hasPhrase(text, path.split(/[\\/]/).at(-1) ?? '');
}

function hasName(text: string, name: string, folder: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? ' ';
    if (isPartOfName(before) || isPartOfName(text[at + name.length] ?? ' ')) continue;
    const separated = before === '/' || before === '\\';
    if (!separated || folder === '' || endsWithFolder(text.slice(0, at - 1), folder)) return true;
  }
  return false;
}

function isPartOfName(char: string): boolean {
  return /[\w-]/.test(char);
}

function endsWithFolder(text: string, folder: string): boolean {
  return text.endsWith(folder) ? !isPartOfName(text[text.length - folder.length - 1] ?? ' ') : text.endsWith('.');
}

/** Whether a text contains the words of a name, without extension, consecutively. Single-word names do not count. */
function hasPhrase(text: string, name: string): boolean {
  const dot = name.lastIndexOf('.');
  const words = wordsOf((dot > 0 ? name.slice(0, dot) : name).replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase());
  const phrase = words.join(' ');
  return (
    words.length > 1 && phrase.length >= LEAST_PHRASE_CHARS && ` ${wordsOf(text).join(' ')} `.includes(` ${phrase} `)
  );
}

function wordsOf(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
}
