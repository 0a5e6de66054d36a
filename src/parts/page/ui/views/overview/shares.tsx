import { compact, dollars, share } from '../../../../../app/page/ui/format.tsx';
import { Bar, Card } from '../../../../../app/page/ui/parts/pieces.tsx';
import type { LedgerReport, Share } from '../../../../../core/ports/ledger-report.ts';

/** The removed tokens as shares of four totals, because a single share is misleading. */
export function Shares({ shares: { ofTexts, ofNewInput, ofAllInput, ofBill } }: { shares: LedgerReport['shares'] }) {
  const rows: readonly (readonly [string, string, Share, (value: number) => string])[] = [
    ['of the texts examined', 'each counted once', ofTexts, compact],
    ['of newly billed input', 'with what was removed for the first time', ofNewInput, compact],
    ['of all input', 'read from the cache or not', ofAllInput, compact],
    ['of the bill', 'net, in dollars', ofBill, dollars],
  ];
  return (
    <Card title="The same cuts as shares of four totals">
      <ul class="shares">
        {rows.map(([name, about, { part, whole, share: known }, unit]) => (
          <li key={name}>
            <div>
              <b>{known === null ? '–' : share(part, whole)}</b> {name} <span class="quiet small">{about}</span>
            </div>
            <Bar part={part} all={whole} tone="cut" />
            <span class="quiet small">
              {unit(part)} of {unit(whole)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
