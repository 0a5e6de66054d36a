import type { DecidedSegments } from './describe.ts';

const SUFFIX = '\nbound';

/**
 * The key under which the store keeps segments of conversations whose history the provider verifies. Their texts can
 * never change, so they stay apart from a project's other conversations. No project name from a header contains a line
 * break.
 */
export function verifiedHistoryProject(project: string): string {
  return `${project}${SUFFIX}`;
}

/**
 * Splits a stored project key into the project's name and `bound`: whether the provider verifies the history, which
 * binds conversations to the bytes that were sent. Undoes `verifiedHistoryProject`.
 */
export function readProjectKey(key: string): { readonly project: string; readonly bound: boolean } {
  return key.endsWith(SUFFIX) ? { project: key.slice(0, -SUFFIX.length), bound: true } : { project: key, bound: false };
}

/** A request whose history the provider verifies, as it is recorded: under its own project key. */
export function ofVerifiedHistory(request: DecidedSegments): DecidedSegments {
  const { scope } = request;
  return { ...request, scope: { ...scope, project: verifiedHistoryProject(scope.project) } };
}
