import type { Standing, SweptSegment } from './sweep.ts';

/** What a segment is and why it may go, in words for an agent to judge by. */
export function explain(segment: SweptSegment, standing: Standing): string {
  return `${nameOf(segment)}: ${reasons(segment, standing).join('; ')}`;
}

function nameOf({ effect, tool, path, startLine, endLine }: SweptSegment): string {
  const file = path === '' ? '' : ` ${path}${linesOf(startLine, endLine)}`;
  const by = tool === '' ? '' : ` by ${tool}`;
  switch (effect) {
    case 'asked':
      return 'words of the user';
    case 'said':
      return 'words of the assistant';
    case 'attached':
      return `attached file${file}`;
    case 'read':
      return `file read${by}${file}`;
    case 'edit':
      return `answer to an edit${by}${file}`;
    case 'search':
      return `search result${by}${file}`;
    case 'list':
      return `listing${by}${file}`;
    case 'run':
      return `command output${by}`;
    default:
      return `result${by}${file}`;
  }
}

function linesOf(startLine: number, endLine: number): string {
  if (startLine === 0 && endLine === 0) return '';
  return ` lines ${Math.max(1, startLine)}-${endLine || 'end'}`;
}

function reasons(segment: SweptSegment, standing: Standing): string[] {
  const out: string[] = [];
  if (standing.stale) out.push('the file was edited later, so this copy is out of date');
  if (standing.superseded) out.push('the same was asked for again later');
  if (standing.otherTask) out.push('belongs to another task');
  const { references, idle, age } = standing;
  if (references === 0) out.push(`nothing referred to it in the ${idle} messages since`);
  else out.push(`last referred to ${idle} messages ago (${references} in all)`);
  if (standing.reach > 0) out.push('recent messages lead to it');
  if (age.hours >= 1) out.push(`${Math.round(age.hours)} h old`);
  out.push(`takes up ${Math.round(segment.tokens)} tokens`);
  return out;
}
