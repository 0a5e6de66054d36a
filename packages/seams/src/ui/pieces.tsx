import { dollars } from 'mcp-pruner/app/page/ui/format.tsx';
import type { PartPieces } from 'mcp-pruner/app/page/ui/part-view.tsx';
import { useLoaded } from 'mcp-pruner/app/page/ui/parts/pieces.tsx';
import { compactionWords } from 'mcp-pruner/core/ports/seams-report.ts';
import type { MonthShown } from '../shapes.ts';

/** What finished work costs, and what summaries of it saved, as lines of the overview. */
export const seamPieces: PartPieces = { Overview: Month, Conversation: () => null };

/** Smaller amounts are not worth a line, in dollars. */
const LEAST_DOLLARS = 0.5;

function Month() {
  const { value } = useLoaded<Partial<MonthShown>>('seams');
  const { finished = 0, dollars: all = 0, compactions, payback } = value ?? {};
  const made = compactions && payback ? compactionWords(compactions, payback, dollars) : '';
  return (
    <>
      {finished >= LEAST_DOLLARS && (
        <p class="quiet notes">
          Finished work: {dollars(finished)} of {dollars(all)} this month. Compacting where a task ends saves most of
          it.
        </p>
      )}
      {made !== '' && <p class="quiet notes">{made}.</p>}
    </>
  );
}
