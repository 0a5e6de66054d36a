import { FACTS } from '../lib/project.mjs';
import { finalAnswer } from '../lib/upstream.mjs';
import { FOCUSED } from './setups.mjs';

const MARKER = /⟦PRUNÉ: prune_id=(\S+) lignes (\d+)-(\d+) \(\d+\)/gu;
const FACT_PATTERNS = {
  factor: /graceFactor = (0\.\d+)/,
  code: /checksum mismatch, code (LX-\d+)/,
  release: /loaded release (kestrel-\d+)/,
};

/** The tool of the stdio server, under whatever name the client gives it. */
function pick(tools, name) {
  const found =
    tools.find((tool) => tool.name === `mcp__pruner__${name}`) ??
    tools.find((tool) => tool.name === name && tool.namespace === 'mcp__pruner');
  if (found === undefined) throw new Error(`no ${name} among ${tools.map((tool) => tool.name).join(', ')}`);
  return found;
}

/** A cut of the file to take back: the longest. */
function longestCut(results) {
  const cuts = [...results.join('\n').matchAll(MARKER)].map(([, prune_id, start, end]) => ({
    prune_id,
    start_line: Number(start),
    end_line: Number(end),
  }));
  const [longest] = cuts.sort((a, b) => b.end_line - b.start_line - (a.end_line - a.start_line));
  if (longest === undefined) throw new Error('no marker to recover');
  const { prune_id, ...range } = longest;
  return { prune_id, ranges: [range], include_line_numbers: false };
}

/**
 * The model of the dialects that are not pruned on their way: reads and runs with a question, takes cuts back, answers.
 *
 * @param {string} nonce
 * @param {(turn: object) => { name: string, args: object } | null} first - a call that must come before all others
 */
export function focusedPlay(nonce, first) {
  let extra = 0;
  return (turn) => {
    if (!turn.isTask) return { text: 'Billing task', calls: [] };
    const before = first(turn);
    if (before !== null) {
      extra = turn.results.length + 1;
      return { text: 'First.', calls: [before] };
    }
    const results = turn.results.slice(extra);
    const text = turn.results.join('\n');
    const call = (name, args) => ({ text: `Next: ${name}.`, calls: [{ ...pick(turn.tools, name), args }] });
    if (results.length === 0) return call('read', FOCUSED.read);
    if (results.length === 1) return call('recover_text', longestCut(results));
    if (results.length === 2) return call('bash', FOCUSED.log);
    if (results.length === 3) return call('recover_text', longestCut(results.slice(-1)));
    const facts = Object.fromEntries(
      Object.entries(FACT_PATTERNS).map(([name, pattern]) => [name, pattern.exec(text)?.[1]]),
    );
    return { text: finalAnswer(nonce, facts), calls: [] };
  };
}

export const expectedAnswer = (nonce) => finalAnswer(nonce, FACTS);
