/**
 * The events of a client that prints one JSON object a line; other lines are skipped.
 *
 * @param {string} stdout
 * @returns {any[]}
 */
export function eventsIn(stdout) {
  return stdout.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line)];
    } catch {
      return []; // a line of the client's own that only looks like one
    }
  });
}
