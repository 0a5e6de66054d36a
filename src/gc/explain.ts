import type { Effect } from '../core/ports/segments.ts';
import type { Relevance, SweptSegment } from './sweep.ts';

/** Describes a segment and why it may be pruned, for an agent to judge. */
export function explain(segment: SweptSegment, relevance: Relevance): string {
  return `${nameOf(segment)}: ${reasons(segment, relevance).join('; ')}`;
}

function nameOf({ effect, tool, path, startLine, endLine }: SweptSegment): string {
  // words have neither, and a command's file arguments are not its output
  const file = path === '' || effect === 'run' ? '' : ` ${path}${linesOf(startLine, endLine)}`;
  const by = tool === '' ? '' : ` by ${tool}`;
  return `${NAMES[effect]}${by}${file}`;
}

const NAMES: Readonly<Record<Effect, string>> = {
  asked: 'words of the user',
  said: 'words of the assistant',
  attached: 'attached file',
  read: 'file read',
  edit: 'answer to an edit',
  search: 'search result',
  list: 'listing',
  run: 'command output',
  other: 'result',
};

function linesOf(startLine: number, endLine: number): string {
  if (startLine === 0 && endLine === 0) return '';
  return ` lines ${Math.max(1, startLine)}-${endLine || 'end'}`;
}

function reasons(segment: SweptSegment, relevance: Relevance): string[] {
  const out: string[] = [];
  if (relevance.stale) out.push('the file was edited later, so this copy is out of date');
  if (relevance.superseded) out.push('the same was asked for again later');
  if (relevance.otherTask) out.push('belongs to another task');
  const { references, idle, age } = relevance;
  if (references === 0) out.push(`nothing referred to it in the ${idle} messages since`);
  else out.push(`last referred to ${idle} messages ago (${references} in all)`);
  if (relevance.reach > 0) out.push('recent messages lead to it');
  if (age.hours >= 1) out.push(`${Math.round(age.hours)} h old`);
  out.push(`takes up ${Math.round(segment.tokens)} tokens`);
  return out;
}
