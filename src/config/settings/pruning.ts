import { list, oneOf, onOff, onOffOr, share, wholeNumber } from '../rules.ts';
import { MAX_TIMER_MS, MIB, setting } from './setting.ts';

export const pruningSettings = {
  enabled: setting({
    common: true,
    rule: onOff(),
    fallback: true,
    doc: 'The kill switch: false forwards everything unchanged.',
  }),
  mode: setting({
    common: true,
    rule: oneOf(['prune', 'shadow']),
    fallback: 'prune',
    flag: 'mode',
    doc: 'shadow: forwards everything unchanged and reports possible savings.',
  }),
  repeats: setting({
    common: true,
    rule: onOff(),
    fallback: true,
    doc: 'Cuts lines of a result that an earlier result of the conversation shows whole; the marker names the place.',
  }),
  minPruneChars: setting({
    common: true,
    rule: wholeNumber(0),
    fallback: 4000,
    unit: 'characters',
    doc: 'Texts shorter than this are never touched.',
  }),
  maxInputChars: setting({
    rule: wholeNumber(1),
    fallback: 2_000_000,
    unit: 'characters',
    doc: 'Texts longer than this pass whole. A string of more than 12 MiB in a request is not read at all.',
  }),
  maxBodyBytes: setting({
    rule: wholeNumber(1),
    fallback: 64 * MIB,
    unit: 'bytes',
    doc:
      'New texts of larger request bodies are not pruned. Where the history is bound, bodies up to eight times as large ' +
      '(64 to 256 MiB) are read to repeat earlier cuts; all others stream through.',
  }),
  maxPruneRatio: setting({
    rule: share(),
    fallback: 0.9,
    doc: 'Maximum share of the lines of a text that may be cut: a limit, not a target.',
  }),
  minKeepLines: setting({
    rule: wholeNumber(0),
    fallback: 20,
    unit: 'lines',
    doc: 'Minimum number of lines of a text that are kept.',
  }),
  timeoutMs: setting({
    rule: wholeNumber(1, MAX_TIMER_MS),
    fallback: 10_000,
    unit: 'ms',
    doc: 'A safety net: CPU time for one text, and how long a request waits if the process does nothing. On a busy machine a request waits up to six times as long, or 90 s if the provider verifies the history. After that new texts pass whole.',
  }),
  includeMarkers: setting<boolean | 'full'>({
    rule: onOffOr('full'),
    fallback: true,
    doc: 'Puts a marker where lines were cut; prune id and reason only stand in the first marker of a text. full: in each. false: none, so that an agent cannot recover lines. Texts that were sent keep their markers.',
  }),
  reasonLanguage: setting({
    common: true,
    rule: oneOf(['fr', 'en']),
    fallback: 'fr',
    doc: 'Language of reasons in markers and annotations. Texts that were sent keep their language.',
  }),
  annotateLines: setting({
    rule: onOff(),
    fallback: false,
    doc: 'Prefixes kept lines with their number. Costs tokens and breaks copied edits.',
  }),
  neverPruneTools: setting({
    common: true,
    rule: list('tool names (globs)'),
    fallback: [],
    doc: 'Results of these tools pass whole.',
  }),
  neverPrunePaths: setting({
    common: true,
    rule: list('file paths (globs)'),
    fallback: [],
    doc: 'These files pass whole.',
  }),
};
