/** What to do first: how an agent is led through the proxy. */
export function Start() {
  const base = location.origin;
  return (
    <div class="start">
      <p>Point an agent at this proxy, and what it sends shows up here.</p>
      <pre>
        <code>{`mcp-pruner run claude          # any wired agent, for one session
OPENAI_BASE_URL=${base}/v1   # or by hand
ANTHROPIC_BASE_URL=${base}`}</code>
      </pre>
      <p>
        Without a key: <code>mcp-pruner demo</code> shows on made-up files what is cut.
      </p>
    </div>
  );
}
