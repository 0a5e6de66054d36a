/** Keys of a call's arguments that `tools.ts` reads. */
const KEY = /\b(?:cmd|command|script|path|file_path|filename|pattern|query|regex|glob|context_focus_question)\b/g;
const QUOTES = '"\'`';
/** Limits for the length of a script, and for the number of values read from it. */
const MAX_SCRIPT_CHARS = 20_000;
const MAX_VALUES = 20;
const MAX_GAP = 20;

/**
 * The arguments of tools in a script, if the model writes JavaScript instead of a call (`await tools.exec_command({
 * cmd: "cat a.py" })`): the values of relevant keys, as if they were arguments of one call. Parsed as text, never
 * executed.
 *
 * @returns `null` if the text calls no tool
 */
export function scriptArgs(text: string): Readonly<Record<string, unknown>> | null {
  const script = text.slice(0, MAX_SCRIPT_CHARS);
  if (!script.includes('tools.')) return null;
  const found = new Map<string, string[]>();
  let behind = 0;
  let values = 0;
  for (const { 0: key, index } of script.matchAll(KEY)) {
    if (index < behind) continue; // the key is inside a value
    const value = valueAt(script, index + key.length);
    if (value === null) continue;
    behind = value.end;
    found.set(key, [...(found.get(key) ?? []), value.text]);
    if (++values === MAX_VALUES) break;
  }
  if (found.size === 0) return null;
  // several commands are joined into one script, since the last one determines the output
  return Object.fromEntries([...found].map(([key, texts]) => [key, texts.join('\n')]));
}

interface Value {
  readonly text: string;
  readonly end: number;
}

/** The string after a key and its colon, or the strings of a list joined by spaces. */
function valueAt(script: string, from: number): Value | null {
  const colon = skip(script, from, `${QUOTES} `);
  if (script[colon] !== ':') return null;
  const at = skip(script, colon + 1, ' \n\t');
  if (script[at] !== '[') return stringAt(script, at);
  const texts: string[] = [];
  let next = skip(script, at + 1, ', \n\t');
  for (let one = stringAt(script, next); one !== null; one = stringAt(script, next)) {
    texts.push(one.text);
    next = skip(script, one.end, ', \n\t');
  }
  return texts.length === 0 ? null : { text: texts.join(' '), end: next };
}

function skip(script: string, from: number, chars: string): number {
  let at = from;
  while (at < from + MAX_GAP && chars.includes(script[at] ?? '\0')) at++;
  return at;
}

/** A string in any quotes, unescaped; `null` if no complete string begins here. */
function stringAt(script: string, start: number): Value | null {
  const quote = script[start];
  if (quote === undefined || !QUOTES.includes(quote)) return null;
  let text = '';
  for (let at = start + 1; at < script.length; at++) {
    const char = script[at];
    if (char === quote) return { text, end: at + 1 };
    if (char === '\\') {
      at++;
      text += ESCAPED.get(script[at] ?? '') ?? script[at] ?? '';
    } else text += char;
  }
  return null;
}

const ESCAPED = new Map([
  ['n', '\n'],
  ['t', '\t'],
]);
