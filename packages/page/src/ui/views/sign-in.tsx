import { messageOf, post } from '@mcp-pruner/ui/api.tsx';
import { useState } from 'preact/hooks';

/** Asks for the token once; afterwards, an HttpOnly cookie replaces it. */
export function SignIn({ onIn }: { onIn: () => void }) {
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const enter = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const token = String(new FormData(form).get('token') ?? '').trim();
    setBusy(true);
    post('session', { token }).then(onIn, (cause: unknown) => {
      setFailure(messageOf(cause));
      setBusy(false);
      form.querySelector('input')?.select();
    });
  };
  return (
    <main class="alone">
      <form class="card sign-in" onSubmit={enter}>
        <img src="/page/icon.svg" alt="" width="40" height="40" />
        <h1>mcp-pruner</h1>
        <p class="quiet">
          This server requires your key (<code>mpk_…</code>) or its token, from <code>MCP_PRUNER_AUTH_TOKEN</code> or
          the file <code>local-token</code> next to the store.
        </p>
        <label for="token">Token or key</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          aria-invalid={failure !== ''}
          aria-describedby="token-failure"
        />
        <p id="token-failure" class="failure" role="alert">
          {failure}
        </p>
        <button type="submit" class="main" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
