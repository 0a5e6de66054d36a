import type { DecidedSegments } from './describe.ts';

const SUFFIX = '\nbound';

/**
 * The key under which the store keeps segments of conversations whose history the provider verifies. Their texts can
 * never change, so they are kept apart from the project's other conversations. The line break in the key cannot occur
 * in a project name from a header.
 */
export function verifiedHistoryProject(project: string): string {
  return `${project}${SUFFIX}`;
}

/**
 * Splits a stored project key into the project name and `bound`, which is set if the provider verifies the history.
 * Inverse of `verifiedHistoryProject`.
 */
export function readProjectKey(key: string): { readonly project: string; readonly bound: boolean } {
  return key.endsWith(SUFFIX) ? { project: key.slice(0, -SUFFIX.length), bound: true } : { project: key, bound: false };
}

/** Moves a request whose history the provider verifies to the separate project key. */
export function ofVerifiedHistory(request: DecidedSegments): DecidedSegments {
  const { scope } = request;
  return { ...request, scope: { ...scope, project: verifiedHistoryProject(scope.project) } };
}
