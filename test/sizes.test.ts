import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from './helpers/project-files.ts';

/** Most functions have fewer than 10 lines; the longest are views of the page and rows of tools. */
const MAX_FUNCTION_LINES = 75;

const files = sourceFiles();

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

/** The line counts of a file's functions that are too long, each with its place. */
function longFunctions(value: unknown, file: string, text: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap((child) => longFunctions(child, file, text));
  if (!('type' in value && /Function/.test(String(value.type)) && 'body' in value && value.body)) return inner;
  const { start, end } = value as unknown as { readonly start: number; readonly end: number };
  const lines = linesOf(text.slice(start, end));
  return lines <= MAX_FUNCTION_LINES ? inner : [`${file}:${linesOf(text.slice(0, start))}: ${lines}`, ...inner];
}

describe('the sources', () => {
  it('contain no function that is too long to read at once', () => {
    const long = files.flatMap(({ file, text }) =>
      longFunctions(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file).body, file, text),
    );
    expect(long).toEqual([]);
  });
});
