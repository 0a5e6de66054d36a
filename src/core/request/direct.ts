import type { Dialect, ScannedText } from '../../dialects/dialect.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import type { DirectivesView } from '../ports/segments.ts';
import { applyDirectives } from '../segments/apply-directives.ts';
import type { KnownHistory } from '../sent/history.ts';
import type { DirectedRequest, ReadRequest } from './request.ts';

/**
 * Applies the directives of the project to a request: pinned texts stay whole, stashed and deleted ones are replaced by
 * a marker.
 *
 * @param language - of the reasons in markers
 */
export function directRequest(
  request: ReadRequest,
  known: KnownHistory,
  language: ReasonLanguage | undefined,
): DirectedRequest {
  const { dialect, state, body, read, scope, steps } = request;
  const directives = viewFor(dialect, state.directives);
  if (directives.empty) return { ...request, known, found: known.found };
  const { messages, first, callOf } = read;
  const toolOf = (text: ScannedText): string => (text.use === 'result' ? (callOf(text)?.name ?? text.name) : '');
  const texts = { messages, first, found: known.found, toolOf };
  return { ...request, known, found: applyDirectives(body, texts, scope.project, directives, steps, language) };
}

/**
 * The directives that apply on a wire. If the provider verifies the history, only pins apply, because no sent text may
 * change.
 */
export function viewFor({ verifiesHistory }: Dialect, directives: DirectivesView): DirectivesView {
  if (!verifiesHistory || directives.empty) return directives;
  const of: DirectivesView['of'] = (...about) => (directives.of(...about) === 'pin' ? 'pin' : null);
  return { mark: directives.mark, empty: false, stepsOf: () => [], of };
}
