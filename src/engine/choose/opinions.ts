import type { Choice } from './runs.ts';

/** A line that another backend is sure of is worth this many times what its going would save, so that it stays. Chosen. */
const SURE_WORTH = 2;
/** Says neither that a line must stay nor that it is noise: halfway. */
const NO_OPINION = 0.5;

/**
 * Lets another backend's opinion of lines take part in a choice: 1 says that a line must stay, 0 that it is noise, 0.5
 * and `NaN` say nothing, and in between the line's own value fades towards the one or the other. Lines without an
 * opinion keep their value, whatever was said of others; what is protected or glued stays so.
 *
 * @param opinions - by line index, or `undefined` for a choice that stays as it is
 */
export function withOpinions(opinions: Float64Array | undefined, choice: Choice): Choice {
  if (opinions === undefined) return choice;
  const { size, price, markerSize } = choice;
  const value = choice.value.map((own, i) => {
    const opinion = Math.min(1, Math.max(0, opinions[i] ?? Number.NaN));
    if (Number.isNaN(opinion)) return own;
    if (opinion < NO_OPINION) return (opinion / NO_OPINION) * own;
    // a line that stays alone in the middle of a cut costs its own size and a second marker
    const worth = Math.max(own, SURE_WORTH * price * ((size[i] ?? 0) + markerSize));
    return own + (opinion / NO_OPINION - 1) * (worth - own);
  });
  return { ...choice, value };
}
