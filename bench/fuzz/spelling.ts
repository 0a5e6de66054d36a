import type { Random } from './random.ts';

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Raw JSON that stands for itself among the values of `writeJson`. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** How a client writes JSON: compact, with white space, with needless escapes. */
export interface Style {
  readonly random: Random;
  /** White space between tokens, once in so many places; 0 for none. */
  readonly spaces: number;
  /** A needless escape, once in so many characters; 0 for none. */
  readonly escapes: number;
}

/** Writes a value as JSON text; object fields come in their order, lone surrogates as escapes. */
export function writeJson(value: unknown, style: Style): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value === 'string') return `"${spell(value, style)}"`;
  if (Array.isArray(value))
    return `[${gap(style)}${value.map((item) => writeJson(item, style) + gap(style)).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(
      ([key, item]) => `${gap(style)}"${spell(key, style)}"${gap(style)}:${gap(style)}${writeJson(item, style)}`,
    );
    return `{${members.join(',')}${gap(style)}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

function gap({ random, spaces }: Style): string {
  return spaces > 0 && random.once(spaces) ? random.pick([' ', '\n', '\t', '\r\n  ']) : '';
}

function spell(text: string, { random, escapes }: Style): string {
  if (escapes === 0) return JSON.stringify(text).slice(1, -1);
  let out = '';
  for (const char of text) {
    const code = char.charCodeAt(0);
    if (random.once(escapes)) {
      const named = SHORT[char];
      if (named !== undefined && random.once(2)) out += named;
      else for (let i = 0; i < char.length; i++) out += unicodeEscape(char.charCodeAt(i), random.once(2));
    } else if (
      code < 0x20 ||
      char === '"' ||
      char === '\\' ||
      (char.length === 1 && code >= 0xd800 && code <= 0xdfff)
    ) {
      out += JSON.stringify(char).slice(1, -1);
    } else out += char;
  }
  return out;
}

function unicodeEscape(code: number, upper: boolean): string {
  const hex = code.toString(16).padStart(4, '0');
  return `\\u${upper ? hex.toUpperCase() : hex}`;
}
