import { callFacts } from '../../src/wires/transcript/tools.ts';
import type { Message } from '../recordings/conversation.ts';
import type { Need } from './needs.ts';
import { callsIn, contentOf } from './shown.ts';

/** A place that a report names: `src/a.ts:12`. */
const PLACE = /([\w@][\w@./-]{0,200}\.\w{1,8}):(\d{1,6})\b/g;
/** A piece of code that a report names. */
const SPAN = /`([^`\n]{6,200})`/g;
/** Code as a tool prints it, with the number of its line in front. */
const NUMBERED = /^[ \t]{0,40}0{0,6}(\d{1,7})(?:[:|→│]| \||\t)/u;

/** A result that shows a file with numbered lines. */
interface ShownFile {
  readonly at: number;
  readonly path: string;
  readonly lines: ReadonlyMap<number, string>;
}

/**
 * What the reports of a conversation rest on: the lines at the places that they name, and the code that they quote, as far as
 * results showed it. A report is an answer that calls nothing.
 */
export function findingsIn(messages: readonly Message[]): Need[] {
  const files: ShownFile[] = [];
  const results: { readonly at: number; readonly text: string }[] = [];
  const paths = new Map<string, string>();
  const found = new Map<string, Need>();
  const said: string[] = [];
  for (const [at, message] of messages.entries()) {
    const text = contentOf(message);
    if (message.role === 'tool') {
      results.push({ at, text });
      const path = paths.get(String(message.tool_call_id)) ?? '';
      if (path !== '') files.push({ at, path, lines: numberedLines(text) });
      continue;
    }
    const calls = message.role === 'assistant' ? callsIn(message) : [];
    for (const { id, ...call } of calls) paths.set(id, callFacts(call).hints.path ?? '');
    if (message.role === 'assistant' && calls.length === 0) {
      for (const need of [...placesIn(text, at, files), ...spansIn(text, at, results, said)]) {
        if (!found.has(need.text)) found.set(need.text, need);
      }
    }
    said.push(text);
  }
  return [...found.values()];
}

function placesIn(report: string, at: number, files: readonly ShownFile[]): Need[] {
  return [...report.matchAll(PLACE)].flatMap(([, path = '', number]): Need[] => {
    const shown = files.filter((file) => isSamePath(file.path, path) && file.lines.has(Number(number)));
    const text = shown.at(-1)?.lines.get(Number(number)) ?? '';
    return text === '' ? [] : [{ at, from: shown.map((file) => file.at), text }];
  });
}

function spansIn(
  report: string,
  at: number,
  results: readonly { readonly at: number; readonly text: string }[],
  said: readonly string[],
): Need[] {
  return [...report.matchAll(SPAN)].flatMap(([, text = '']): Need[] => {
    if (said.some((words) => words.includes(text))) return [];
    const from = results.flatMap((result) => (result.text.includes(text) ? result.at : []));
    return from.length === 0 ? [] : [{ at, from, text }];
  });
}

function numberedLines(text: string): Map<number, string> {
  const lines = text.split('\n').flatMap((line): [number, string][] => {
    const number = NUMBERED.exec(line)?.[1];
    return number === undefined ? [] : [[Number(number), line]];
  });
  return new Map(lines);
}

function isSamePath(a: string, b: string): boolean {
  const [long = '', short = ''] = a.length < b.length ? [b, a] : [a, b];
  return long === short || long.endsWith(`/${short.replace(/^\.?\//, '')}`);
}
