import { forcedReason } from '../errors/passed-whole.ts';

/** Explanations of why a text was left whole, by the code in decisions, events and the ledger. */
const WORDS: Readonly<Record<string, string>> = {
  too_little_saved: 'cutting it would have saved too little',
  constraints_unmet: 'its limits cannot be met',
  timeout: 'time ran out before it was judged',
  input_too_large: 'it is larger than max_input_chars',
  internal_error: 'ranking it failed',
  reread: 'the agent asked for it a second time',
  repeat_read_again: 'the agent read the same place again after a repeat was cut',
  copy_gone: 'the earlier result with the same lines is gone',
  named: 'the user or the plan names the file',
  report: 'it is a report from another agent',
  window: 'the agent asked for these lines by number',
  file: 'the agent may edit this file',
  short: 'it is a short list or a short diff',
  small: 'it is too small',
  exempt: 'a setting excludes its tool or path',
  recovered: 'it gives out lines that were recovered',
  pinned: 'it is pinned',
  past: 'the model had answered it before the proxy saw it',
  refused: 'it was not judged',
  left_alone: 'the provider refused cuts of its conversation',
  overloaded: 'too many large requests came at once',
  store_unavailable: 'the store could not be used',
  held_out: 'its conversation belongs to the control group',
  off: 'pruning was switched off',
  shadow: 'shadow mode only counts what would be cut',
  unrecorded: 'its reason was not recorded by an earlier version',
};

/** Explains a left-whole code; unknown codes (of newer versions) are returned unchanged. */
export function leftWholeWords(code: string): string {
  const known = Object.hasOwn(WORDS, code) ? code : (forcedReason(code) ?? code);
  return WORDS[known] ?? code.replaceAll('_', ' ');
}
