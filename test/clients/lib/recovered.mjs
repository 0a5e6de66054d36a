import { logText } from './project.mjs';
import { conversationOf } from './wires.mjs';

/** Lines of the log; each has a time of its own. */
const LOG_LINES = logText('inside')
  .split('\n')
  .filter((line) => /^\d\d:/.test(line));

/** What is wrong with the tool results that reached the model: the log must be pruned, and another must give lines back. */
export function checkResults(results) {
  const failures = [];
  const pruned = results.find((text) => text.includes('⟦PRUNÉ'));
  const recovered = results.filter((text) => text.includes('raw_text')).join('\n'); // a description may say it too
  if (pruned === undefined) failures.push('no result was pruned');
  if (recovered === '') failures.push('nothing was recovered');
  if (pruned === undefined || recovered === '') return failures;
  const shown = new Set(LOG_LINES.filter((line) => pruned.includes(line)));
  const back = LOG_LINES.filter((line) => !shown.has(line) && recovered.includes(line));
  if (back.length === 0) failures.push('what was recovered is not what was cut');
  if (shown.size > LOG_LINES.length / 2) failures.push('the log was hardly pruned');
  return failures;
}

/** The texts of tool results in the last request of the task. */
export function resultsSeen(model) {
  const conversations = model.seen
    .filter(({ step }) => step !== '' && step !== 'title')
    .map(({ path, body }) => conversationOf(path, body));
  const results = (conversations.at(-1)?.messages ?? []).filter(({ role }) => role === 'tool');
  return results.map(({ content }) => JSON.stringify(content));
}
