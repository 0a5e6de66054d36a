/** Keys of a call whose values are worth reading, as `tools.ts` knows them. */
const KEYED =
  /\b(cmd|command|script|path|file_path|filename|pattern|query|regex|glob)["']?\s{0,20}:\s{0,20}("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\[[^\]]{0,2000}\])/g;
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
/** So much of a script is read, and so many calls in it. */
const MAX_SCRIPT_CHARS = 20_000;
const MAX_VALUES = 20;

/**
 * What a script calls tools with, where the model writes JavaScript instead of a call (`await tools.exec_command({ cmd:
 * "cat a.py" })`): the values of the keys that matter, as if they stood in the arguments of one call. Read as text, never
 * run.
 *
 * @returns `null` when the text calls no tool
 */
export function scriptArgs(text: string): Readonly<Record<string, unknown>> | null {
  const script = text.slice(0, MAX_SCRIPT_CHARS);
  if (!/\btools\.\w{1,100}\(/.test(script)) return null;
  const found = new Map<string, string[]>();
  for (const [, key = '', value = ''] of [...script.matchAll(KEYED)].slice(0, MAX_VALUES)) {
    const strings = value.startsWith('[') ? [...value.matchAll(STRING)].map(([literal]) => literal) : [value];
    found.set(key, [...(found.get(key) ?? []), strings.map(unquoted).join(' ')]);
  }
  if (found.size === 0) return null;
  // several commands are one script: what the last of them prints decides
  return Object.fromEntries([...found].map(([key, values]) => [key, values.join('\n')]));
}

function unquoted(literal: string): string {
  try {
    const value: unknown = literal.startsWith('"') ? JSON.parse(literal) : null;
    if (typeof value === 'string') return value;
  } catch {
    // an escape that JSON does not know
  }
  return literal.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}
