import { innerCommand, shellParts, withoutLoops } from './call-targets.ts';
import { callFacts, fileVerb, parseArgs, type ToolCall } from './tools.ts';

/** Outcome of a test run: `red` if a test failed, `green` if all passed. */
export type TestOutcome = 'red' | 'green';

const EDIT_NAME = /(?:^|[^a-z])(?:multi)?(?:edit|replace|patch|diff)(?:$|[^a-z])/i;
const PATCH = '*** Begin Patch';

/**
 * Whether a call replaces parts of a file. Writing whole files does not count, because it never has to find the text to
 * replace.
 */
export function isEdit(call: ToolCall): boolean {
  if (call.args.includes(PATCH)) return true;
  const name = call.name.replaceAll(/([a-z])([A-Z])/g, '$1_$2');
  return EDIT_NAME.test(name) && fileVerb(parseArgs(call.args)) !== 'look';
}

/** Answers of edit tools that did not find the text to replace, or found it several times. */
const NOT_FOUND =
  /not found in|no match|(?:failed|unable) to (?:find|match|locate)|could(?: not|n't) (?:find|locate|apply)|(?:did|does)(?: not|n't) (?:match|appear)|no replacement was|0 occurrences|multiple (?:matches|occurrences)|\d matches of the string|verification failed|patch failed|has not been read yet|modified since (?:it was )?(?:last )?read/i;
/** Matches the beginning of the answer to a successful edit; lines of the file may follow. */
const APPLIED = /^\W*(?:the file \S+ has been (?:updated|edited)|success|done\b|edit applied|edited\b|updated\b)/i;
const ANSWER_CHARS = 600;

/** Whether an edit's answer reports that the text to replace was missing, ambiguous or outdated. */
export function editFailed(answer: string): boolean {
  const text = answer.slice(0, ANSWER_CHARS);
  return NOT_FOUND.test(text) && !APPLIED.test(text);
}

/** Programs that run another program, with their options. */
const WRAPPERS = new Set(
  'sudo time timeout npx bunx pnpx exec run dlx python python3 -m bundle poetry uv pipenv rye coverage'.split(' '),
);
const PACKAGE_RUNNERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
const TEST_PROGRAMS = new Set(
  'vitest jest mocha ava tap pytest py.test unittest nose2 tox nox rspec phpunit pest ctest bats gotestsum'.split(' '),
);
/** Programs that run tests if a following word is a test task. */
const TASK_PROGRAMS = new Set(
  'npm pnpm yarn bun deno cargo go dotnet swift mix flutter dart sbt rails rake make just mvn mvnw gradle gradlew turbo nx composer playwright cypress'.split(
    ' ',
  ),
);
const TEST_TASK =
  /^(?:[\w-]{0,40}:){0,4}(?:unit-?|integration-?)?tests?(?:[:-][\w:-]{0,40})?$|^(?:nextest|verify|t|e2e)$/;
/** Programs whose `check` runs tests; with others it compiles or lints. */
const CHECKING = new Set(['make', 'just']);
const TASK_WORDS = 5;
const MAX_WORDS = 40;

/** Whether a call runs tests with a shell command. */
export function isTestRun(call: ToolCall): boolean {
  const { command } = callFacts(call).hints;
  if (command === undefined) return false;
  return withoutLoops(shellParts(innerCommand(command))).some(([first = '']) => runsTests(first));
}

function runsTests(stage: string): boolean {
  const words = stage.trim().split(/\s+/, MAX_WORDS);
  const at = words.findIndex((word, i) => !isBeforeProgram(word, words[i + 1]));
  const program = words[at]?.split('/').at(-1) ?? '';
  const behind = words.slice(at + 1, at + 1 + TASK_WORDS);
  if (TEST_PROGRAMS.has(program)) return true;
  if (program === 'node') return behind.includes('--test');
  if (CHECKING.has(program) && behind.includes('check')) return true;
  return TASK_PROGRAMS.has(program) && behind.some((word) => TEST_TASK.test(word));
}

/** Whether a word precedes the actual program: a variable, a wrapper, or a wrapper's numeric argument. */
function isBeforeProgram(word: string, next = ''): boolean {
  if (PACKAGE_RUNNERS.has(word)) return next === 'exec' || next === 'dlx' || TEST_PROGRAMS.has(next);
  return /^\w{1,60}=|^\d{1,9}s?$/.test(word) || WRAPPERS.has(word.split('/').at(-1) ?? '');
}

const FAILED =
  /\b[1-9]\d{0,6} (?:tests? )?(?:failed|failing|failures?)\b|\b(?:failures?|failed|errors?|fail)[:=] ?[1-9]|^(?:FAIL|--- FAIL|not ok)\b|test result: FAILED|BUILD FAIL|\bexit(?:ed)?(?: with)?(?: code| status)?:? ?[1-9]|\bTests?:? failed\b/im;
const PASSED =
  /\b[1-9]\d{0,6} (?:tests? )?(?:passed|passing|passes)\b|^(?:ok|PASS)\b|test result: ok|\bOK \(|^OK$|BUILD SUCCESS|[1-9]\d{0,6} (?:examples?|tests?|specs?|assertions?)[^\n]{0,80}\b0 failures|\ball tests pass|^# pass [1-9]/im;

/** The outcome of a test run, read from its output; `null` if the output does not show it. */
export function testOutcome(output: string): TestOutcome | null {
  if (FAILED.test(output)) return 'red';
  return PASSED.test(output) ? 'green' : null;
}

/** Maximum length of a correction; longer messages are new tasks. */
const CORRECTION_CHARS = 2_000;
/** English only. Missed corrections affect pruned and unpruned conversations equally, so comparisons stay fair. */
const CORRECTION =
  /^\W*(?:no|nope|wrong|stop|undo|revert)\b(?! (?:problem|worries|need|rush)\b)|\b(?:that|this|it)(?:'s| is|’s) (?:still )?(?:wrong|incorrect|broken|not (?:right|correct|working|what))|\bnot what i (?:asked|meant|want)|\b(?:still|does(?: not|n't|n’t)|did(?: not|n't|n’t)) (?:work|fail|broken|compile|build|pass)|\byou (?:forgot|missed|broke|ignored|misunderstood)|\bi (?:already )?(?:said|told you|meant)\b|\b(?:undo|revert) (?:that|this|it|your|the)\b/i;

/** Whether the user's words correct the model. */
export function isCorrection(words: string): boolean {
  return words.length <= CORRECTION_CHARS && CORRECTION.test(words);
}
