import { parseMarker } from '../../src/engine/text/marker.ts';
import type { Fact } from './basis.ts';
import type { Measured } from './measure.ts';
import { drawOf } from './random.ts';
import { callsIn, contentOf } from './shown.ts';

/** A fact of a result that was cut, as a person can check it. */
export interface SampledFact {
  /** What the measure says. */
  readonly said: 'kept' | 'lost';
  readonly text: string;
}

/** Lines that are shown before and after a fact. */
const AROUND = 3;
const LONGEST_LINE = 200;
const LONGEST_ANSWER = 800;

/** The labelled facts of results that were cut, of one conversation. */
export function factsOfCuts({
  recording,
  needs,
  texts,
  sent,
}: Pick<Measured, 'recording' | 'needs' | 'texts' | 'sent'>): SampledFact[] {
  return needs.answers.flatMap(({ at, facts }) =>
    facts.flatMap((fact): SampledFact[] => {
      const [before, after] = [texts.originalOf(fact.from), texts.textAt(fact.from, at)];
      if (before === after) return [];
      const said = sent.hasFact(at, fact) ? 'kept' : 'lost';
      const { messages, name } = recording;
      const calls = messages.flatMap((message) => (message.role === 'assistant' ? callsIn(message) : []));
      const id = messages[fact.from]?.tool_call_id;
      const asked = calls.find((call) => call.id === id);
      const answer = messages[at] ?? {};
      const called = callsIn(answer).map((call) => `${call.name} ${call.args}`);
      const text = [
        `\`${fact.kind}\`, ${name}, result ${fact.from}, answer ${at}`,
        section('Call', clipped(`${asked?.name ?? ''} ${asked?.args ?? ''}`, LONGEST_ANSWER)),
        section('The fact in the whole result', aroundLine(before, lineOf(before, fact))),
        section('The result as it was sent', aroundLine(after, placeIn(before, after, fact))),
        section('The answer', clipped([contentOf(answer), ...called].join('\n').trim(), LONGEST_ANSWER)),
      ].join('\n\n');
      return [{ said, text }];
    }),
  );
}

/** Draws facts, half of them said to be kept and half said to be lost; fewer where there are not enough. */
export function drawnFrom(facts: readonly SampledFact[], count: number, seed: string): SampledFact[] {
  const draw = drawOf(`sample ${seed}`);
  const keyed = facts.map((fact) => ({ fact, key: draw() })).sort((a, b) => a.key - b.key);
  const some = (said: SampledFact['said']): SampledFact[] =>
    keyed.flatMap(({ fact }) => (fact.said === said ? fact : [])).slice(0, Math.floor(count / 2));
  return [...some('kept'), ...some('lost')];
}

/** The sample as a page of Markdown, with boxes to tick and how to count them. */
export function samplePage(sample: readonly SampledFact[]): string {
  const kept = sample.filter(({ said }) => said === 'kept').length;
  const items = sample.map(({ said, text }, k) =>
    [`## ${k + 1}: ${said}`, text, '- [ ] A: the answer depends on this fact', `- [ ] B: it is ${said}`].join('\n\n'),
  );
  const intro = `# Facts that answers rest on: ${kept} said to be kept, ${sample.length - kept} said to be lost

Tick A if the answer could not have been given without this fact of the result. Tick B if the measure is right: *kept* if
the fact can be read in the result as it was sent, *lost* if it cannot.

Count: the precision of the labels is the ticked A of all items. The precision of "kept" and of "lost" is, of the
items with a ticked A of each part, those with a ticked B.`;
  return `${[intro, ...items].join('\n\n')}\n`;
}

function section(title: string, text: string): string {
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${title}:\n\n${fence}text\n${text}\n${fence}`;
}

function clipped(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} …`;
}

/** Index of the first line that shows a fact. */
function lineOf(text: string, { lines }: Fact): number {
  const shows = new Set(lines);
  return text.split('\n').findIndex((line) => shows.has(line));
}

/** Index of the line of a cut text that shows a fact, or of the marker that stands for it. */
function placeIn(before: string, after: string, fact: Fact): number {
  const standing = lineOf(after, fact);
  const number = lineOf(before, fact) + 1;
  if (standing >= 0) return standing;
  return after.split('\n').findIndex((line) => {
    const marker = parseMarker(line.trim());
    return marker !== null && marker.startLine <= number && number <= marker.endLine;
  });
}

function aroundLine(text: string, index: number): string {
  const lines = text.split('\n');
  const from = Math.max(0, index - AROUND);
  const shown = lines.slice(from, index + AROUND + 1).map((line, k) => {
    const sign = from + k === index ? '>' : ' ';
    return `${sign} ${clipped(line, LONGEST_LINE)}`;
  });
  return [...(from > 0 ? ['  …'] : []), ...shown, ...(index + AROUND + 1 < lines.length ? ['  …'] : [])].join('\n');
}
