/**
 * What an answer rests on without quoting it, by rules over the results that came right before it (`laterAnswers`: over
 * earlier ones):
 *
 * - `outcome`: the answer says that something failed or passed, and the result counts it. A bare exit code does not count:
 *   clients print it above every result;
 * - `failing`: a call names a test that the result alone reported as failed;
 * - `version`: the answer or a call has a version that only the result had;
 * - `choice`: a call opens one of several paths that only the result listed;
 * - `presence`: the answer says that something is there, after a search that found it;
 * - `nothing`: the answer says that there is none, after a result that is empty or says so.
 *
 * Each fact has the lines of the result that show it, one of which is enough. A fact of which the answer repeats a whole
 * line does not count: that is quoting, which `visible` measures.
 */
import { callFacts } from '../../src/wires/transcript/tools.ts';
import type { Message } from '../recordings/conversation.ts';
import { type Call, callsIn, contentOf } from './shown.ts';

export interface Fact {
  readonly kind: 'outcome' | 'failing' | 'version' | 'choice' | 'presence' | 'nothing';
  /** Index of the result. */
  readonly from: number;
  /** Indices of other results of the same turn that show it too. */
  readonly beside: readonly number[];
  /** Lines of the results, as they stand there, each of which shows the fact. */
  readonly lines: readonly string[];
}

/** An answer, and the facts without which it could not have been given. */
export interface GroundedAnswer {
  readonly at: number;
  readonly facts: readonly Fact[];
}

const FAILED = /\b[1-9]\d{0,6} (?:failed|failures?|errors?|failing)\b|\b(?:failed|failures|errors)[:=] ?[1-9]/i;
const PASSED =
  /\b\d{1,7} (?:passed|passing)\b|\b0 (?:failed|failures|errors|failing)\b|\b(?:failed|failures|errors)[:=] ?0\b|\btest result: ok\b/i;
const SAYS_FAILED = /\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken?|red)\b/i;
const SAYS_PASSED = /\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|works?)\b/i;
const FAILING_TEST = /^\s{0,20}(?:FAIL(?:ED)?\b|[✗×✕●]|not ok\b|--- FAIL:)/u;
const NAME = /[\w./-]{6,200}/g;
const VERSION = /\bv?\d{1,4}\.\d{1,4}\.\d{1,6}\b/g;
const PATH = /[\w@.-]{1,100}(?:\/[\w@.-]{1,100}){1,20}/g;
const FEWEST_PATHS = 3;
const SAYS_PRESENT = /\b(?:found|exists?|already|there (?:is|are)|is used|are used|defined|occurs?|matches)\b/i;
const SAYS_NONE = /\b(?:no|not|none|nothing|empty|never|missing|absent|without)\b|n't\b/i;
const NONE = /^\W{0,3}(?:no (?:matches|files|results|output|occurrences)|0 (?:matches|results|files)|nothing)\b/i;
/** A result that says that there is nothing has no more lines. */
const FEW_LINES = 5;
/** Shorter lines stand in an answer by chance. */
const QUOTED_CHARS = 20;

/** A result that came right before an answer. */
interface Shown {
  readonly from: number;
  readonly text: string;
  readonly lines: readonly string[];
  readonly call: Call | undefined;
}

/** An answer, and what had been said and shown before the results that it followed. */
interface Answer {
  readonly words: string;
  readonly called: string;
  /** Paths and names that are not new in the results do not come from them. */
  readonly isNew: (name: string) => boolean;
}

/** Finds the answers of a conversation that rest on the results right before them. */
export function groundedAnswers(messages: readonly Message[]): GroundedAnswer[] {
  const calls = new Map<string, Call>();
  const before: string[] = [];
  let shown: Shown[] = [];
  const grounded: GroundedAnswer[] = [];
  for (const [at, message] of messages.entries()) {
    const text = contentOf(message);
    if (message.role === 'tool') {
      const call = calls.get(String(message.tool_call_id));
      shown.push({ from: at, text, lines: text.split('\n'), call });
      continue;
    }
    const called = message.role === 'assistant' ? callsIn(message) : [];
    for (const call of called) calls.set(call.id, call);
    if (message.role === 'assistant') {
      const answer: Answer = {
        words: text,
        called: called.map(({ args }) => args).join('\n'),
        isNew: (name) => !before.some((earlier) => earlier.includes(name)),
      };
      const facts = shown
        .flatMap((result) => factsOf(result, answer))
        .map((fact) => ({ ...fact, beside: besideOf(fact, shown) }));
      if (facts.length > 0) grounded.push({ at, facts });
    }
    before.push(...shown.map((result) => result.text), text, ...called.map(({ args }) => args));
    shown = [];
  }
  return grounded;
}

/** Where results showed a name, and the lines with it. */
interface ShownName {
  readonly kind: Fact['kind'];
  readonly results: number[];
  readonly lines: Set<string>;
}

/**
 * Finds the answers that rest on results before the newest ones: they name a version, or a call names a path or a failing
 * test, that only earlier results showed and that nobody has said since.
 */
export function laterAnswers(messages: readonly Message[]): GroundedAnswer[] {
  const known = new Map<string, ShownName>();
  const said = new Set<string>();
  const later: GroundedAnswer[] = [];
  let newest: { readonly at: number; readonly text: string }[] = [];
  for (const [at, message] of messages.entries()) {
    const text = contentOf(message);
    if (message.role === 'tool') {
      newest.push({ at, text });
      continue;
    }
    const called = message.role === 'assistant' ? callsIn(message).map(({ args }) => args) : [];
    const words = [text, ...called].join('\n');
    const names = [...(words.match(VERSION) ?? []), ...namesIn(called.join('\n'))];
    const isNewest = (name: string): boolean => newest.some((result) => result.text.includes(name));
    const facts = [...new Set(names)].flatMap((name): Fact[] => {
      const shown = message.role === 'assistant' && !said.has(name) && !isNewest(name) ? known.get(name) : undefined;
      if (shown === undefined) return [];
      const [from = -1, ...beside] = shown.results;
      return [{ kind: shown.kind, from, beside, lines: [...shown.lines] }];
    });
    const unquoted = facts.filter(({ lines }) => !lines.some((line) => isQuoted(line, words)));
    if (unquoted.length > 0) later.push({ at, facts: unquoted });
    for (const name of [...(words.match(VERSION) ?? []), ...namesIn(words)]) said.add(name);
    for (const result of newest) noteNames(result, known);
    newest = [];
  }
  return later;
}

function namesIn(text: string): string[] {
  return [...(text.match(PATH) ?? []), ...(text.match(NAME) ?? [])];
}

function noteNames({ at, text }: { readonly at: number; readonly text: string }, known: Map<string, ShownName>): void {
  const isList = new Set(text.match(PATH) ?? []).size >= FEWEST_PATHS;
  for (const line of text.split('\n')) {
    const note = (name: string, kind: Fact['kind']): void => {
      const shown = known.get(name) ?? { kind, results: [], lines: new Set() };
      known.set(name, shown);
      if (shown.results.at(-1) !== at) shown.results.push(at);
      shown.lines.add(line);
    };
    for (const version of line.match(VERSION) ?? []) note(version, 'version');
    if (isList) for (const path of line.match(PATH) ?? []) note(path, 'choice');
    if (FAILING_TEST.test(line))
      for (const name of line.replace(FAILING_TEST, '').match(NAME) ?? []) note(name, 'failing');
  }
}

/** Other results of the same turn that have one of a fact's lines. */
function besideOf({ from, lines }: Fact, shown: readonly Shown[]): number[] {
  return shown.flatMap((other) =>
    other.from !== from && lines.some((line) => line.trim() !== '' && other.lines.includes(line)) ? other.from : [],
  );
}

function factsOf(result: Shown, answer: Answer): Fact[] {
  const { from } = result;
  const found: Fact[] = [
    ...outcome(result, answer).map((lines): Fact => ({ kind: 'outcome', from, beside: [], lines })),
    ...failing(result, answer).map((lines): Fact => ({ kind: 'failing', from, beside: [], lines })),
    ...versions(result, answer).map((lines): Fact => ({ kind: 'version', from, beside: [], lines })),
    ...choice(result, answer).map((lines): Fact => ({ kind: 'choice', from, beside: [], lines })),
    ...presence(result, answer).map((lines): Fact => ({ kind: 'presence', from, beside: [], lines })),
    ...nothing(result, answer).map((lines): Fact => ({ kind: 'nothing', from, beside: [], lines })),
  ];
  const said = `${answer.words}\n${answer.called}`;
  return found.filter(({ lines }) => lines.length > 0 && !lines.some((line) => isQuoted(line, said)));
}

function isQuoted(line: string, said: string): boolean {
  return line.trim().length >= QUOTED_CHARS && said.includes(line.trim());
}

function outcome({ lines }: Shown, { words }: Answer): string[][] {
  const failed = SAYS_FAILED.test(words) ? lines.filter((line) => FAILED.test(line)) : [];
  const passed = SAYS_PASSED.test(words) ? lines.filter((line) => PASSED.test(line) && !FAILED.test(line)) : [];
  return failed.length > 0 ? [failed] : [passed];
}

function failing({ lines }: Shown, { called, isNew }: Answer): string[][] {
  const reports = lines.filter((line) => FAILING_TEST.test(line));
  const names = new Set(reports.flatMap((line) => line.replace(FAILING_TEST, '').match(NAME) ?? []));
  const named = [...names].filter((name) => called.includes(name) && isNew(name));
  return named.map((name) => reports.filter((line) => line.includes(name)));
}

function versions({ text, lines }: Shown, { words, called, isNew }: Answer): string[][] {
  const said = new Set(`${words}\n${called}`.match(VERSION) ?? []);
  const shown = [...said].filter((version) => text.includes(version) && isNew(version));
  return shown.map((version) => lines.filter((line) => line.includes(version)));
}

function choice({ text, lines }: Shown, { called, isNew }: Answer): string[][] {
  const paths = new Set(text.match(PATH) ?? []);
  if (paths.size < FEWEST_PATHS) return [];
  const opened = [...paths].filter((path) => called.includes(path) && isNew(path));
  return opened.map((path) => lines.filter((line) => line.includes(path)));
}

function presence({ lines, call }: Shown, { words }: Answer): string[][] {
  const pattern = searchedFor(call);
  if (pattern === '' || !SAYS_PRESENT.test(words) || SAYS_NONE.test(words)) return [];
  return [lines.filter((line) => line.includes(pattern))];
}

/** The longest word of what a call searched for; `''` for other calls. */
function searchedFor(call: Call | undefined): string {
  if (call === undefined) return '';
  const { hints, said } = callFacts(call);
  const command = hints.command ?? '';
  const quoted = /\b(?:grep|rg|ag)\b[^"']{0,100}(["'])(.{1,200}?)\1/.exec(command)?.[2];
  const searched = hints.origin === 'search' && command === '' ? (said.split('\n')[0] ?? '') : quoted;
  return (searched?.match(/\w{3,100}/g) ?? []).reduce((a, b) => (b.length > a.length ? b : a), '');
}

function nothing({ text, lines }: Shown, { words }: Answer): string[][] {
  if (!SAYS_NONE.test(words)) return [];
  if (text.trim() === '') return [['']];
  return lines.length > FEW_LINES ? [] : [lines.filter((line) => NONE.test(line))];
}
