import type { LineRange } from '../../engine/types.ts';
import { commandOf, innerCommand, shellParts, withoutLoops } from './call-targets.ts';
import { callsRecovery, type ToolCall } from './tools.ts';

/** Lines of an original that a command requested. */
export interface RecoveredLines {
  readonly pruneId: string;
  /** Empty means all lines. */
  readonly ranges: readonly LineRange[];
}

/** A shell command that recovers originals: `mcp-pruner recover`, `why` or `recall`. */
interface ShellRecovery {
  /** Whether the output contains nothing else, except for the effect of filters behind a pipe. */
  readonly isWholeOutput: boolean;
  /** The originals named in the command; `recall` names none. */
  readonly lines: readonly RecoveredLines[];
}

/** Matches the program in all forms: installed, by path, with a version, or as the proxy's script file. */
const PROGRAM = /^(?:\S{0,200}[/\\])?(?:mcp-pruner(?:@[\w.^~-]{1,40})?(?:\.(?:cmd|exe|js))?|cli\.[jt]s)$/;
/** Commands that print or explain an original. */
const COMMANDS = new Set(['recover', 'why', 'recall']);
/** Commands whose output is rephrased, so that it cannot be recognised by an original's lines. */
const IN_OWN_WORDS = new Set(['why', 'recall']);
/** Maximum number of words between the program and its command, such as `--` or a runner's options. */
const MOST_BETWEEN = 3;
/** Commands that print little or nothing. */
const PRINTS_LITTLE =
  /^\s*(?:cd|export|set|source|echo|printf|true|sleep|wait|read|local|test|\[|\w+=|done\b|fi\b|then\b|\}|$)/;
const PRUNE_ID = /prn_[0-9A-HJKMNP-TV-Z]{12}/g;
/** Matches the value of `--lines`, and the lines of a quoted marker. */
const LINES = /--lines[= ]["']?((?:\d{1,9}(?:-\d{1,9})?,?){1,200})|\blignes (\d{1,9}-\d{1,9})/;
const SHELL = /(?:^|[\s/])(?:ba|z|da|k)?sh\s+-\w{0,4}c\s/;
/** Maximum depth for reading shells within shells. */
const MAX_DEPTH = 3;
/** Maximum number of originals named in one command. */
const MOST_NAMED = 64;

/** Whether a call recovered or searched originals, with a tool or in a shell. */
export function isRecovery(call: ToolCall | undefined): boolean {
  return callsRecovery(call) || shellRecovery(call) !== null;
}

/** Parses a shell command that recovers originals; `null` for all other calls. Nothing is executed. */
export function shellRecovery(call: ToolCall | undefined): ShellRecovery | null {
  if (!call || !/mcp-pruner|cli\.[jt]s/.test(call.args)) return null;
  const command = commandOf(call);
  const found: Stage[] = [];
  const alone = read(command, found, 0);
  if (found.length === 0) return null;
  const everywhere = idsIn(command);
  const lines = found.flatMap(({ text, program }) => {
    if (program === 'recall') return [];
    const named = idsIn(text);
    const ranges = rangesIn(text);
    // the id may be in a variable, or in a list before `xargs`
    return (named.length > 0 ? named : everywhere).map((pruneId) => ({ pruneId, ranges }));
  });
  return {
    isWholeOutput: alone || found.some(({ program }) => IN_OWN_WORDS.has(program)),
    lines: lines.slice(0, MOST_NAMED),
  };
}

interface Stage {
  readonly text: string;
  readonly program: string;
}

/** Adds stages that recover originals to `found`. Returns whether the command prints nothing else. */
function read(command: string, found: Stage[], depth: number): boolean {
  let alone = true;
  for (const stages of withoutLoops(shellParts(innerCommand(command)))) {
    const before = found.length;
    for (const text of stages) {
      const inner = depth < MAX_DEPTH ? SHELL.exec(text) : null;
      if (inner) alone = read(`sh -c ${text.slice(inner.index + inner[0].length)}`, found, depth + 1) && alone;
      else {
        const program = programIn(text);
        if (program !== null) found.push({ text, program });
      }
    }
    const [first = ''] = stages;
    if (found.length === before && !PRINTS_LITTLE.test(first)) alone = false;
  }
  return alone;
}

/** The subcommand that a stage passes to the program, or `null`. */
function programIn(stage: string): string | null {
  const words = stage.split(/[\s"'`(){}[\],;$]+/).filter((word) => word !== '');
  for (const [i, word] of words.entries()) {
    if (!PROGRAM.test(word)) continue;
    const behind = words.slice(i + 1, i + 2 + MOST_BETWEEN);
    const program = behind.find((one) => !one.startsWith('-'));
    if (program !== undefined && COMMANDS.has(program)) return program;
  }
  return null;
}

function idsIn(text: string): string[] {
  return [...new Set(text.match(PRUNE_ID) ?? [])];
}

function rangesIn(text: string): LineRange[] {
  const [, list, marked] = LINES.exec(text) ?? [];
  return (list ?? marked ?? '')
    .split(',')
    .map((part) => part.split('-').map(Number))
    .map(([startLine = 0, endLine = startLine]) => ({ startLine, endLine }))
    .filter(({ startLine, endLine }) => startLine > 0 && endLine >= startLine);
}
