import { eachTerm, isJoined } from 'mcp-pruner/engine/search/terms.ts';

/** Maximum number of terms of a query; further ones are ignored. */
const MOST_TERMS = 64;

/** Common words of sentences. They are rare in code, so rarity alone would give them the highest weights. */
const FILLERS = new Set(
  `a about actually after again against all already also an and any are as at be because been before being both but by can
  check checking confirm could did do does doing done don each exactly find first for from full fully get good got great had
  has have here how if in instead into is isn it its just let like ll look looking make makes may me might more most must my
  need needs next no not now of off ok okay on once one only or other our out over own perfect please quickly re same see
  shall should so some still such than that the their them then there these they this those through to too under until up use
  used uses using ve verify verifying very want was we well were what when where whether which while who whole whom why will
  with without would you your`.split(/\s+/),
);

/**
 * The terms of a query, each with a flag for whether it is part of a name (identifier of several words, path, or text
 * in backticks). Fillers are omitted unless the query has nothing else.
 */
export function termsOfQuery(query: string): ReadonlyMap<string, boolean> {
  const all = new Map<string, boolean>();
  const parts = query.split('`');
  parts.forEach((part, i) => {
    const isQuoted = i % 2 === 1 && i < parts.length - 1;
    for (const word of part.split(/\s+/)) {
      const isNamed = isQuoted || isJoined(word);
      eachTerm(word, (term) => all.set(term, isNamed || all.get(term) === true));
    }
  });
  const terms = [...all].filter(([term, isNamed]) => isNamed || !FILLERS.has(term));
  return new Map((terms.length > 0 ? terms : [...all]).slice(0, MOST_TERMS));
}
