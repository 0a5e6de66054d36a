import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFiles, projectRoot } from '../helpers/project-files.ts';

/** A fenced block of a page. */
export interface Block {
  /** `file:line` of the opening fence. */
  readonly place: string;
  /** Word behind the fence, or `''`. */
  readonly language: string;
  readonly text: string;
}

/** A page, without its fenced blocks. */
export interface Page {
  readonly file: string;
  readonly prose: string;
  readonly blocks: readonly Block[];
}

/** The pages that users read: the README files, the docs and the advice for contributors. */
export function pages(): Page[] {
  const files = projectFiles().filter((file) => /^(?:docs\/|packages\/[\w-]+\/README|[A-Z]+\.md$)/.test(file));
  return files.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md').map(pageOf);
}

function pageOf(file: string): Page {
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { readonly place: string; readonly language: string; readonly lines: string[] } | null = null;
  for (const [i, line] of readFileSync(join(projectRoot, file), 'utf8').split('\n').entries()) {
    const fence = /^ *```(\w*)/.exec(line);
    if (fence === null) (open?.lines ?? prose).push(line);
    else if (open === null) open = { place: `${file}:${i + 1}`, language: fence[1] ?? '', lines: [] };
    else {
      blocks.push({ place: open.place, language: open.language, text: open.lines.join('\n') });
      open = null;
    }
  }
  return { file, prose: prose.join('\n'), blocks };
}

/** A command as a shell would start it. */
export interface ShellCommand {
  /** Variables that are set for it or, without words, for what follows. */
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/** The commands of a script, those in `$(…)` included, without comments and redirections. */
export function commandsIn(script: string): ShellCommand[] {
  const found: ShellCommand[] = [];
  let env: Record<string, string> = {};
  let words: string[] = [];
  let word: string | null = null;
  const endWord = (): void => {
    const set = word === null || words.some((one) => one !== 'export') ? null : /^([A-Z_]\w*)=(.*)$/s.exec(word);
    if (set) env[set[1] ?? ''] = set[2] ?? '';
    else if (word !== null) words.push(word);
    word = null;
  };
  const endCommand = (): void => {
    endWord();
    const own = words.filter((one) => one !== 'export');
    if (own.length > 0 || Object.keys(env).length > 0) found.push({ env, words: withoutTargets(own) });
    [env, words] = [{}, []];
  };
  for (let i = 0; i < script.length; i++) {
    const char = script[i] ?? '';
    const quoted = char === "'" || char === '"' ? script.indexOf(char, i + 1) : -1;
    if (char === '\\' && script[i + 1] === '\n') i++;
    else if (quoted > 0) {
      const inner = script.slice(i + 1, quoted);
      if (char === '"')
        for (const [, nested = ''] of inner.matchAll(/\$\(([^)]*)\)/g)) found.push(...commandsIn(nested));
      word = (word ?? '') + inner;
      i = quoted;
    } else if (char === '$' && script[i + 1] === '(') {
      const end = script.indexOf(')', i);
      found.push(...commandsIn(script.slice(i + 2, end)));
      word = `${word ?? ''}$(…)`;
      i = end;
    } else if (char === '#' && word === null) {
      const end = script.indexOf('\n', i);
      i = (end < 0 ? script.length : end) - 1;
    } else if (/[\n;|&]/.test(char)) endCommand();
    else if (/\s/.test(char)) endWord();
    else word = (word ?? '') + char;
  }
  endCommand();
  return found;
}

/** Words without redirections and the files that they name. */
function withoutTargets(words: readonly string[]): string[] {
  return words.filter((word, i) => !/^[<>]/.test(word) && !/^[<>]+$/.test(words[i - 1] ?? ''));
}
