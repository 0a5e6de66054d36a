import { sourceText } from './project.mjs';
import { conversationOf } from './wires.mjs';

/** A number of its own stands in the body of each function of the source file. */
function bodiesIn(text) {
  return new Set([...text.matchAll(/let weight = (\d+)/g)].map(([, weight]) => weight));
}

/** What is wrong with the tool results that reached the model: one must be pruned, and another must give lines back. */
export function checkResults(results) {
  const failures = [];
  const pruned = results.find((text) => text.includes('⟦PRUNÉ'));
  const recovered = results.filter((text) => text.includes('raw_text')).join('\n'); // a description may say it too
  if (pruned === undefined) failures.push('no result was pruned');
  if (recovered === '') failures.push('nothing was recovered');
  if (pruned === undefined || recovered === '') return failures;
  const shown = bodiesIn(pruned);
  const all = bodiesIn(sourceText('inside'));
  const back = [...bodiesIn(recovered)].filter((weight) => all.has(weight) && !shown.has(weight));
  if (back.length === 0) failures.push('what was recovered is not what was cut');
  if (shown.size > all.size / 2) failures.push('the file was hardly pruned');
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
