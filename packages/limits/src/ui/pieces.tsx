import { dollars } from '@mcp-pruner/ui/format.tsx';
import type { PartPieces } from '@mcp-pruner/ui/part-view.tsx';
import { Bar, Card, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { points } from 'mcp-pruner/base/decimals.ts';
import type { ContextFigures } from '../line-figures.ts';
import type { ConversationShare, LimitsReport, WindowShown } from '../shapes.ts';
import { localTime, percent, timeLeft } from '../words.ts';

/** Subscription limits on the page: a strip on the overview, and the share of each conversation. */
export const limitPieces: PartPieces = { Overview: Strip, Conversation: Share };

const PROVIDERS: Readonly<Record<string, string>> = { anthropic: 'Claude', openai: 'ChatGPT' };
const WARN = 0.8;

function Strip() {
  const { value } = useLoaded<Partial<LimitsReport>>('limits');
  const accounts = value?.accounts ?? [];
  if (accounts.length === 0) return null;
  return (
    <Card title="Limits of subscriptions">
      {accounts.map(({ account, provider, windows }) =>
        windows.map((window) => (
          <div class="meter" key={`${account} ${window.window}`}>
            <b>
              {PROVIDERS[provider] ?? provider} {window.window}
            </b>
            <Bar part={window.used} all={Math.max(1, window.used)} tone={window.used >= WARN ? 'bad' : 'good'} />
            <span>
              {percent(window.used)} used, <span class="quiet">{aboutOf(window)}</span>
            </span>
          </div>
        )),
      )}
    </Card>
  );
}

function aboutOf({ used, pace, resetsAt, sessions, elsewhere }: WindowShown): string {
  const nowMs = Date.now();
  const until =
    used >= 1
      ? 'used up'
      : pace.usedUpAt === null
        ? 'lasts until the reset'
        : `used up ${localTime(pace.usedUpAt, nowMs)} at this rate`;
  const [most] = sessions;
  return [
    until,
    `resets ${localTime(resetsAt, nowMs)}`,
    ...(most && most.used > 0 ? [`most by session ${most.session.slice(0, 8)} (${points(most.used)} %)`] : []),
    ...(elsewhere > 0 ? [`elsewhere ${points(elsewhere)} %`] : []),
  ].join(' · ');
}

function Share({ name }: { readonly name: string }) {
  const { value } = useLoaded<{
    readonly shares?: readonly ConversationShare[];
    readonly context?: ContextFigures | null;
    readonly finished?: string | null;
  }>('limits', { conversation: name });
  const shares = value?.shares ?? [];
  return (
    <>
      {shares.length > 0 && <Shares shares={shares} />}
      {value?.finished && (
        <p class="note" role="status">
          {value.finished}
        </p>
      )}
      {value?.context && <p class="quiet notes">{contextWords(value.context, Date.now())}</p>}
    </>
  );
}

function contextWords(context: ContextFigures, nowMs: number): string {
  const { tokens, threshold, cacheUntilMs, next, compactPaysAfter } = context;
  const limit = threshold === null ? '' : ` of ${threshold.toLocaleString('en')}, at which its client compacts`;
  const isWarm = cacheUntilMs !== null && cacheUntilMs > nowMs;
  const left = isWarm ? `for another ${timeLeft(cacheUntilMs - nowMs)}` : 'no longer';
  const cost =
    next === null ? '' : isWarm ? `${dollars(next.warm)}, or ${dollars(next.cold)} later` : dollars(next.cold);
  return [
    `Its context holds ${tokens.toLocaleString('en')} tokens${limit}.`,
    ...(cacheUntilMs === null ? [] : [`The cache has it ${left}.`]),
    ...(cost === ''
      ? []
      : [`The next turn costs ${cost} for the context alone; a cleared one would cost nothing for it.`]),
    ...(compactPaysAfter === null ? [] : [`Compacting pays after ${compactPaysAfter} turns.`]),
  ].join(' ');
}

function Shares({ shares }: { readonly shares: readonly ConversationShare[] }) {
  return (
    <p class="quiet notes">
      Of the subscription's limits it used{' '}
      {shares
        .map(({ window, used, shared }) => `${points(used)} % of ${window}${shared > 0 ? ' (partly shared)' : ''}`)
        .join(', ')}
      .
    </p>
  );
}
