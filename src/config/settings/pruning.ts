import { list, oneOf, onOff, share, wholeNumber } from '../rules.ts';
import { MAX_TIMER_MS, MIB, setting } from './setting.ts';

/** What is pruned, and how. */
export const pruningSettings = {
  enabled: setting({
    rule: onOff(),
    fallback: true,
    doc: 'The kill switch: false forwards everything as it came.',
  }),
  mode: setting({
    rule: oneOf(['prune', 'shadow']),
    fallback: 'prune',
    flag: 'mode',
    doc: 'shadow forwards everything as it came and only reports what would have been saved.',
  }),
  minPruneChars: setting({
    rule: wholeNumber(0),
    fallback: 4000,
    unit: 'characters',
    doc: 'Texts shorter than this are never touched.',
  }),
  minOutputChars: setting({
    rule: wholeNumber(0),
    fallback: 1000,
    unit: 'characters',
    fallbackWords: '1000, or MCP_PRUNER_MIN_PRUNE_CHARS where that is raised',
    doc: 'Logs, test runs and listings that a command printed are looked at from here on, where that is less than MCP_PRUNER_MIN_PRUNE_CHARS.',
  }),
  maxInputChars: setting({
    rule: wholeNumber(1),
    fallback: 2_000_000,
    unit: 'characters',
    doc: 'Texts longer than this pass whole.',
  }),
  maxBodyBytes: setting({
    rule: wholeNumber(1),
    fallback: 64 * MIB,
    unit: 'bytes',
    doc: 'Request bodies larger than this are streamed through without pruning.',
  }),
  maxPruneRatio: setting({
    rule: share(),
    fallback: 0.9,
    doc: 'Largest share of the lines of one text that may go: a ceiling, not a target.',
  }),
  minKeepLines: setting({
    rule: wholeNumber(0),
    fallback: 20,
    unit: 'lines',
    doc: 'Fewest lines of one text that stay.',
  }),
  timeoutMs: setting({
    rule: wholeNumber(1, MAX_TIMER_MS),
    fallback: 1500,
    unit: 'ms',
    doc: 'Longest time that pruning may take for one text; after it the text passes whole.',
  }),
  includeMarkers: setting({
    rule: onOff(),
    fallback: true,
    doc: 'Whether a marker line stands where lines were cut. Without it an agent cannot see what to recover.',
  }),
  markerStyle: setting({
    rule: oneOf(['full', 'short']),
    fallback: 'full',
    doc: 'How markers are written into requests: each with its prune id and reason (`full`), or only the first one of a text, the others by their lines (`short`). What was sent before stays as it was.',
  }),
  reasonLanguage: setting({
    rule: oneOf(['fr', 'en']),
    fallback: 'fr',
    doc: 'Language of the reason in markers and annotations. What was sent before keeps its words.',
  }),
  annotateLines: setting({
    rule: onOff(),
    fallback: false,
    doc: 'Whether kept lines carry their line number. Costs tokens and spoils edits that an agent copies.',
  }),
  neverPruneTools: setting({
    rule: list('tool names (globs)'),
    fallback: [],
    doc: 'Results of these tools pass whole.',
  }),
  neverPrunePaths: setting({
    rule: list('file paths (globs)'),
    fallback: [],
    doc: 'These files pass whole.',
  }),
};
