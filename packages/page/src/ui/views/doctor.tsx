import { type Failure, failureOf, post } from '@mcp-pruner/ui/api.tsx';
import { Badge, Head, Trouble } from '@mcp-pruner/ui/parts/pieces.tsx';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import { plural } from 'mcp-pruner/base/counts.ts';
import { useEffect, useState } from 'preact/hooks';

const LEVELS = { ok: ['good', 'ok'], note: ['warn', 'note'], failure: ['bad', 'broken'] } as const;
const ORDER = ['failure', 'note', 'ok'] as const;

/** The findings of `mcp-pruner doctor`, failures first. */
export function DoctorView({ can }: { can: boolean }) {
  const [findings, setFindings] = useState<readonly Finding[] | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const check = (): void => {
    setBusy(true);
    post<{ findings: readonly Finding[] }>('doctor', {})
      .then(
        (answer) => {
          setFindings(answer.findings);
          setFailure(null);
        },
        (cause: unknown) => setFailure(failureOf(cause)),
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => {
    if (can) check();
  }, []);
  const broken = findings?.filter(({ level }) => level === 'failure').length ?? 0;
  return (
    <>
      <Head
        title="Doctor"
        about="Node, configuration, port, upstream, store, and the agents that are set up. Keys are sent only to their own proxy, texts nowhere."
      >
        {can && (
          <button type="button" onClick={check} disabled={busy}>
            Check again
          </button>
        )}
      </Head>
      {!can && (
        <p class="note">
          The checks run where the server was started by <code>mcp-pruner serve</code>; elsewhere run{' '}
          <code>mcp-pruner doctor</code>.
        </p>
      )}
      {failure && <Trouble failure={failure} retry={check} />}
      <p class="unseen" role="status">
        {busy ? 'Checking' : findings ? `${plural(findings.length, 'finding')}, ${broken} broken` : ''}
      </p>
      {busy && findings === null && <p class="quiet loading">Checking…</p>}
      {findings && (
        <ul class="rows findings">
          {ORDER.flatMap((level) => findings.filter((one) => one.level === level)).map(({ level, what, advice }, i) => (
            <li key={`${i} ${what}`}>
              <Badge tone={LEVELS[level][0]}>{LEVELS[level][1]}</Badge>
              <div>
                <p class="breaks">{what}</p>
                {advice && <p class="quiet breaks">{advice}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
