import { keepAsked } from './asked/asked.ts';
import { matchGoal } from './goal/matching.ts';
import { goalTerms } from './goal/terms.ts';
import { readVocabulary } from './goal/vocabulary.ts';
import { wantedLike } from './goal/words.ts';
import { readDeclarations } from './kinds/code/units.ts';
import { hintsFor } from './kinds/documents.ts';
import type { Analysis, Reading } from './kinds/kind.ts';
import { protectLines } from './kinds/protect.ts';
import { recogniseKind } from './kinds/recognise.ts';
import { sumOf } from './rank/measures.ts';
import { readTemplates } from './text/templates.ts';
import { viewBehind, viewText } from './text/view.ts';
import type { Hints, PruneInput } from './types.ts';

/** The part of the input that the analysis depends on. Limits only matter for the choice of lines. */
type AnalysisInput = Pick<PruneInput, 'text' | 'goal' | 'sourceType' | 'hints' | 'asked' | 'shouldStop'>;

/** Analyses a text and ranks its lines, or returns `null` if `shouldStop` returns true. */
export function analyse(input: AnalysisInput): Analysis | null {
  const stopped = (): boolean => input.shouldStop?.() === true;
  const whole = viewText(input.text, input.hints?.frameHead ?? 0);
  if (stopped()) return null;
  const hints = hintsFor(input, whole);
  const { kind, name, sourceType } = recogniseKind(whole, input.sourceType, hints);
  const view = kind.contentStart === undefined ? whole : viewBehind(whole, kind.contentStart);
  const goal = informativeGoal(input.goal, hints);
  const terms = goalTerms(goal);
  const templates = readTemplates(view);
  const blocks = kind.units(view);
  // the contract protects declarations in all texts that the caller declares as code
  const units = kind.declares || sourceType !== 'code' ? blocks : { ...blocks, declared: readDeclarations(view) };
  if (stopped()) return null;
  const keep = protectLines({ kind, name }, { view, units, templates, sourceType }, hints);
  if (stopped()) return null;
  const words = readVocabulary(view, kind.ranksByAllWords ? undefined : wantedLike(terms.map(({ word }) => word)));
  if (stopped()) return null;
  const match = matchGoal(view, words, kind.informativeTerms?.(terms) ?? terms, kind.ranksByAllWords !== true);
  const reading: Reading = { view, kind, name, sourceType, terms, units, templates, words, match };
  keepAsked(reading, goal, keep);
  kind.protectMatches?.(reading, keep);
  const value = kind.rank(reading);
  divide(value, sumOf(value));
  return stopped() ? null : { ...reading, hints, keep, value };
}

function divide(values: Float64Array, by: number): void {
  if (by > 0) for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) / by;
}

/** Strips parts of a goal that name a location instead of a topic: words of the command, the file path, addresses. */
export function informativeGoal(goal: string, hints: Pick<Hints, 'command' | 'path'> | undefined): string {
  const withoutCommand = hints?.command === undefined ? goal : without(goal, hints.command, informativeWords);
  const withoutPath = hints?.path === undefined ? withoutCommand : without(withoutCommand, hints.path, () => '');
  return withoutAddresses(withoutPath).trimStart();
}

/**
 * A command is recognised in a goal by this many leading characters, because goals truncate long commands. Set by hand.
 */
const RECOGNISED_CHARS = 100;

/** Replaces a phrase, which may be truncated, on its own line of the goal. */
function without(goal: string, phrase: string, inOtherWords: (found: string) => string): string {
  const start = phrase === '' ? -1 : goal.indexOf(phrase.slice(0, RECOGNISED_CHARS));
  if (start < 0 || (start > 0 && goal[start - 1] !== '\n')) return goal;
  let length = 0;
  while (length < phrase.length && goal[start + length] === phrase[length]) length++;
  const end = start + length;
  if (end < goal.length && goal[end] !== '\n') return goal;
  return `${goal.slice(0, start)}${inOtherWords(goal.slice(start, end))}${goal.slice(end)}`;
}

/** Matches an option with a quoted value, a quoted text, an operator that ends a command, or a word. */
const ARGUMENT = /[\w-]{1,60}=["'][^"']{0,1000}["']|"([^"]{0,1000})"|'([^']{0,1000})'|\|\||[|;\n]|([^\s"'|;]{1,1000})/g;
const ENDS = /^(?:&&|\|\||[|;\n])$/;
/** Line and column numbers in the form of `sed`, `head` and `cut`. */
const COUNT = /^[\d,$~.+]+[a-z]?$/;
/** Matches words that name a file or folder, or control the program: options, redirections, variables. */
const UNINFORMATIVE = /^[-<>&+]|^\d[<>]|[/\\]|^\.|^~|^\w+=|^[\w-]{1,60}\.[A-Za-z]\w{0,7}$/;
/** Programs that run another one. */
const WRAPPERS = new Set(['sudo', 'env', 'time', 'timeout', 'nice', 'command', 'exec', 'bash', 'sh', 'zsh', 'xargs']);
/** Programs whose plain arguments are files. */
const OF_FILES = new Set(
  'cat head tail less more nl bat wc ls dir tree du stat file cd cp mv rm mkdir touch diff'.split(' '),
);
/** Programs whose first plain argument is a pattern, followed by files. */
const OF_PATTERN = new Set('grep egrep fgrep rg ag ack sed awk'.split(' '));

/** The patterns and plain words of a command, without programs, options, files and counts. */
function informativeWords(command: string): string {
  const kept: string[] = [];
  let program = '';
  let patterns = 0;
  for (const [whole, double, single, plain] of command.matchAll(ARGUMENT)) {
    const quoted = double ?? single;
    if (ENDS.test(whole)) program = '';
    else if (quoted !== undefined) {
      if (COUNT.test(quoted) || (OF_PATTERN.has(program) && patterns++ > 0)) continue;
      kept.push(quoted);
    } else if (plain === undefined || COUNT.test(plain)) {
      // an option's value, a count
    } else if (program === '') {
      if (!WRAPPERS.has(plain) && (!UNINFORMATIVE.test(plain) || /^\.{0,2}\/|^~\//.test(plain)))
        program = baseName(plain);
      patterns = 0;
    } else if (plain.includes('::')) kept.push(plain.slice(plain.indexOf('::') + 2));
    else if (!UNINFORMATIVE.test(plain) && !OF_FILES.has(program) && !(OF_PATTERN.has(program) && patterns++ > 0))
      kept.push(plain);
  }
  return kept.join(' ');
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Scheme and host of a URL; the rest may name a page. */
const ADDRESS = /\b(?:https?|ftp|wss?|git|ssh):\/\/[^\s/?#)\]"'`<>]{1,255}|\bwww\.[^\s/?#)\]"'`<>]{1,255}/g;

function withoutAddresses(goal: string): string {
  return goal.includes('://') || goal.includes('www.') ? goal.replaceAll(ADDRESS, ' ') : goal;
}
