/** A command of a shell as its parts (`;`, `&&`, `||`, line ends) and the stages of each (`|`). Read as text, never run. */
export type ShellParts = readonly (readonly string[])[];

const MAX_CHARS = 2_000;

/** The command that `bash -lc "…"` runs; any other command unchanged. */
export function innerCommand(command: string): string {
  const [, inner] = /^\s*(?:\/bin\/|\/usr\/bin\/)?(?:ba|z)?sh\s+-l?c\s(.*)$/s.exec(command) ?? [];
  return inner?.trimStart().replace(/^(["'])(.*)\1\s*$/s, '$2') ?? command;
}

/** Divides a command outside quotes; quoted text stays in its stage. */
export function shellParts(command: string): ShellParts {
  const parts: string[][] = [];
  let stages: string[] = [];
  let stage = '';
  let quote = '';
  const endStage = (): void => {
    stages.push(stage);
    stage = '';
  };
  const endPart = (): void => {
    endStage();
    if (stages.some((one) => one.trim() !== '')) parts.push(stages);
    stages = [];
  };
  const text = command.slice(0, MAX_CHARS);
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    const twice = text[i + 1] === char;
    if (quote !== '') {
      if (char === quote) quote = '';
      stage += char;
    } else if (char === '\\') stage += char + (text[++i] ?? '');
    else if (char === "'" || char === '"') {
      quote = char;
      stage += char;
    } else if (char === ';' || char === '\n') endPart();
    else if ((char === '&' || char === '|') && twice) {
      endPart();
      i++;
    } else if (char === '|') endStage();
    else stage += char;
  }
  endPart();
  return parts;
}

const LOOP_HEAD = /^\s*for\s+(\w+)\s+in\s+/;
const LOOP_BODY = /^\s*do(?:\s+|$)/;
const LOOP_END = /^\s*done\b/;

/**
 * The same parts with each `for x in a b; do cat "$x"; done` as the commands that it runs: `cat "a b"` in the place of the loop.
 */
export function withoutLoops(parts: ShellParts): ShellParts {
  let name = '';
  let values = '';
  return parts.flatMap((stages): readonly string[][] => {
    const [first = '', ...rest] = stages;
    const head = LOOP_HEAD.exec(first);
    if (head) {
      name = head[1] ?? '';
      values = first.slice(head[0].length);
      return [];
    }
    if (LOOP_END.test(first)) {
      name = '';
      return [];
    }
    const body = [first.replace(LOOP_BODY, ''), ...rest];
    if (name === '') return [body];
    const variable = `$${name}`;
    return [body.map((stage) => stage.replaceAll(`\${${name}}`, variable).replaceAll(variable, values))];
  });
}
