import type { DirectivesView } from '../ports/segments.ts';
import type { DecidedRequest } from './reporter.ts';

/**
 * The project under which segments are noted of conversations whose provider checks what was sent before. Nothing of them
 * can change, and they must not be mixed with those of which it can. No header field holds a line break.
 */
export function boundProject(project: string): string {
  return `${project}\nbound`;
}

/** As it is noted where the provider checks the past: apart from what can be set aside, with pins alone. */
export function boundRequest(request: DecidedRequest, directives: DirectivesView): DecidedRequest {
  const { scope } = request;
  return { ...request, scope: { ...scope, project: boundProject(scope.project) }, directives };
}
