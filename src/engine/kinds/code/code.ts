import { measureProse, rankByMeasures } from '../../rank/prose.ts';
import { CODE_WEIGHTS } from '../../rank/weights.ts';
import { protectByContract } from '../contract.ts';
import { type Kind, READ_SIZE } from '../kind.ts';
import { definitionsOf } from './definitions.ts';
import { protectSource } from './protect.ts';
import { codeUnits } from './units.ts';

/** Source code in any language, and configuration in a similar form. */
export const code: Kind = {
  family: 'code',
  sourceType: 'code',
  names: {
    code: 'lua pl pm r dart ex exs erl hs ml clj zig proto tf gradle cmake',
    python: 'py pyi pyx',
    typescript: 'ts tsx mts cts',
    javascript: 'js jsx mjs cjs vue svelte',
    go: 'go',
    rust: 'rs',
    java: 'java kt scala groovy swift',
    c: 'c h cc cpp cxx hpp hh m',
    csharp: 'cs',
    ruby: 'rb rake',
    php: 'php',
    shell: 'sh bash zsh fish ps1',
    sql: 'sql',
    yaml: 'yaml yml',
    toml: 'toml ini cfg conf env',
    html: 'html htm xml svg',
    css: 'css scss less',
  },
  shapes: [
    {
      name: 'codeLike',
      pattern:
        /[;{}]$|^\s*(?:def|class|import|from|return|if|for|while|func|fn|let|const|var|public|private|static|use|package|#include|end|elif|else|try|except)\b|^\s*(?:\/\/|\/\*|\*\s)|\w\(.*\)\s*[:{]?$|^\s*[\w.]+ = /,
    },
  ],
  looksLike: () => 0,
  units: codeUnits,
  declares: true,
  protect(text, protect) {
    if (text.sourceType === 'code') protectSource(text, protect);
    // what begins like a heading in code is a comment
    else if (text.sourceType === 'logs') protectByContract(text, protect);
  },
  ranksByAllWords: true,
  rank: (reading) => rankByMeasures(code.measure?.(reading) ?? [], reading.view.n),
  measure: (reading) => measureProse(reading, CODE_WEIGHTS),
  boldness: {
    // a file that is read may be worked on, a program's output is looked through
    atCeiling: { read: 0.7, command: 2.6, search: 1, listing: 1, unknown: 1.8 },
    readSize: READ_SIZE,
    mild: 0.27,
    deep: 0.27,
  },
  definitions: definitionsOf,
};
