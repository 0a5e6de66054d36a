import type { SourceType } from 'mcp-pruner/engine/types.ts';

/** Maximum number of characters read per line, which limits the cost of the patterns below. */
const HEAD = 400;

const MODIFIERS = new Set(
  `export default abstract public private protected internal static final sealed async unsafe inline const extern pub "C"`.split(
    ' ',
  ),
);
const TYPES = new Set(['class', 'interface', 'enum', 'struct', 'trait', 'impl', 'union', 'record']);

/** The rest of a line after its modifiers (`export async`, `pub(crate)`…). */
function afterModifiers(line: string): string {
  let rest = line;
  for (;;) {
    const [word = ''] = /^[A-Za-z"]+/.exec(rest) ?? [];
    if (!MODIFIERS.has(word)) return rest;
    let next = rest.slice(word.length);
    if (word === 'pub' && next.startsWith('(')) {
      const close = next.indexOf(')');
      if (close < 0) return rest;
      next = next.slice(close + 1);
    }
    const trimmed = next.trimStart();
    if (trimmed.length === next.length) return rest;
    rest = trimmed;
  }
}

function isImport(line: string): boolean {
  if (/^(?:import\b|#\s{0,8}include\b|use\s[\w:{]|package\s)/.test(line)) return true;
  if (/^from\s+\S/.test(line)) return /\simport\b/.test(line);
  return /^(?:const|let|var)\s/.test(line) && line.includes('require(');
}

/** Matches `int main(int argc, …`: at column 0, with a word before the name and no semicolon. */
function isCHead(line: string): boolean {
  const open = line.indexOf('(');
  if (open < 3 || !/^[A-Za-z_]/.test(line) || line.includes(';')) return false;
  const before = line.slice(0, open);
  return /^[\w\s*]+$/.test(before) && /[\s*]\w+$/.test(before);
}

/** Whether a line declares something: an import, a type, a function's head. */
export function isDeclaration(raw: string): boolean {
  const line = raw.slice(0, HEAD);
  const bare = line.trimStart();
  if (isImport(bare)) return true;
  const rest = afterModifiers(bare);
  const [word = ''] = /^\w+/.exec(rest) ?? [];
  if (TYPES.has(word) && !line.includes(';')) return true;
  if ((word === 'def' || word === 'fn') && /^\w+\s+\w/.test(rest)) return true;
  if (word === 'func' || word === 'function') return true;
  if (word === 'type' && /^type\s+\w+\s+(?:struct|interface)\b/.test(rest)) return true;
  if (/^(?:public|private|protected|static)\b/.test(bare)) {
    const open = bare.indexOf('(');
    const method = open > 0 && !/[=;]/.test(bare.slice(0, open)) && !bare.slice(open).includes(';');
    if (method && bare.trimEnd().endsWith('{')) return true;
  }
  return isCHead(line);
}

const FAILURE = /error|exception|traceback|fatal|panic|fail/i;
const RULE = /^(?:=+|-{4,}|~{4,}|\^{4,})\s*$/;

/** Whether a line is a heading, a heading's underline, or a code fence. */
export function isHeading(raw: string): boolean {
  const line = raw.slice(0, HEAD);
  return /^#{1,6}\s/.test(line) || RULE.test(line) || line.trimStart().startsWith('```');
}

/**
 * The structural lines of a text: declarations in code, failures in logs, headings in documents. Used only for
 * measurements; the engine has its own rules.
 *
 * @returns one flag per line; index 0 is line 1
 */
export function structuralLines(lines: readonly string[], sourceType: SourceType): Uint8Array {
  const flags = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (sourceType === 'code') flags[i] = isDeclaration(line) ? 1 : 0;
    else if (sourceType === 'logs') flags[i] = FAILURE.test(line.slice(0, HEAD)) ? 1 : 0;
    else if (isHeading(line)) {
      flags[i] = 1;
      // The title of a reStructuredText section precedes its underline.
      const isTitle = /^[=\-~^]{4,}\s*$/.test(line) && (lines[i - 1] ?? '').trim() !== '';
      if (isTitle) flags[i - 1] = 1;
    }
  });
  return flags;
}
