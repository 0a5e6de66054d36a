export function Start() {
  const base = location.origin;
  return (
    <div class="start">
      <p>Point an agent at this proxy. Its requests appear here.</p>
      <pre>
        <code>{`mcp-pruner run claude          # one session; also codex, gemini, opencode
OPENAI_BASE_URL=${base}/v1   # or by hand
ANTHROPIC_BASE_URL=${base}
GOOGLE_GEMINI_BASE_URL=${base}`}</code>
      </pre>
      <p>
        Without an API key: <code>mcp-pruner demo</code> shows cuts in sample files.
      </p>
    </div>
  );
}
