import type { ReportedRequest } from './reporter.ts';

const MARK = '\nbound';

/**
 * The key under which the store keeps segments of conversations whose history the provider verifies. Their texts can never
 * change, so they stay apart from a project's other conversations. No project name from a header contains a line break.
 */
export function verifiedHistoryProject(project: string): string {
  return `${project}${MARK}`;
}

/** Splits a stored project key into the project's name and whether the provider verifies its history; undoes `verifiedHistoryProject`. */
export function readProjectKey(key: string): { readonly project: string; readonly bound: boolean } {
  return key.endsWith(MARK) ? { project: key.slice(0, -MARK.length), bound: true } : { project: key, bound: false };
}

/** A request whose history the provider verifies, as it is recorded: under its own project key. */
export function ofVerifiedHistory(request: ReportedRequest): ReportedRequest {
  const { scope } = request;
  return { ...request, scope: { ...scope, project: verifiedHistoryProject(scope.project) } };
}
