/** Variables inherited from the server, in addition to names with the prefixes `LC_`, `XDG_` and `SSL_CERT_`. */
const INHERITED = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR', 'NODE_EXTRA_CA_CERTS'],
  ...['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'],
]);
const INHERITED_PREFIXES = ['LC_', 'XDG_', 'SSL_CERT_'];
/** Never inherited, even if configured: the server's settings contain its token, its database and its provider keys. */
const NEVER = /^(?:MCP_PRUNER_.*|DEEPINFRA_API_KEY)$/;
/** Variables that no call may set and no setting may allow: PATH, preloaded libraries, the model's base URL. */
const RESERVED =
  /^(?:PATH|NODE_OPTIONS|LD_.*|DYLD_.*|MCP_PRUNER_.*|OPENAI_BASE_URL|OPENAI_API_BASE|ANTHROPIC_BASE_URL|GOOGLE_GEMINI_BASE_URL|NO_PROXY|no_proxy)$/;
/**
 * Variables that a call may set: output format, provider keys, and names with a prefix that no program reads. Other
 * variables could name a file to load, a program to start or a settings folder (`BASH_ENV`, `GIT_SSH_COMMAND`,
 * `PYTHONPATH`, `CODEX_HOME`), which would bypass the list of allowed commands.
 */
const SETTABLE =
  /^(?:LANG|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|COLUMNS|LINES|CI|(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE)_API_KEY|(?:MY|TASK|JOB|CHILD|WORKER|FLEET)_[A-Z0-9_]+)$/;
const LOOPBACK = '127.0.0.1,localhost,::1';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether a call may set a variable.
 *
 * @param allowed - further names that the configuration allows; a trailing `*` matches any suffix
 */
export function maySet(name: string, allowed: readonly string[] = []): boolean {
  if (RESERVED.test(name)) return false;
  return (
    SETTABLE.test(name) || allowed.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one))
  );
}

interface ChildAddress {
  readonly childId: string;
  readonly token: string;
  /** `http://host:port/child/<token>`. */
  readonly url: string;
}

/**
 * Builds the complete environment of a child.
 *
 * @param named - further server variables that the configuration passes on
 * @param wiring - variables that point the agent to the proxy
 * @param own - variables set by the call
 */
export function childEnvironment(
  server: Environment,
  named: readonly string[],
  wiring: Environment,
  own: Environment,
  { childId, token, url }: ChildAddress,
): Record<string, string> {
  const inherited = Object.entries(server).filter(
    ([name]) =>
      !NEVER.test(name) &&
      (INHERITED.has(name) || named.includes(name) || INHERITED_PREFIXES.some((prefix) => name.startsWith(prefix))),
  );
  const direct = [server.NO_PROXY || server.no_proxy, LOOPBACK].filter(Boolean).join(',');
  const given = Object.entries({ ...Object.fromEntries(inherited), ...wiring, ...own }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    ...Object.fromEntries(given),
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_BASE: `${url}/v1`,
    ANTHROPIC_BASE_URL: url,
    GOOGLE_GEMINI_BASE_URL: url,
    MCP_PRUNER_CHILD_ID: childId,
    MCP_PRUNER_CHILD_TOKEN: token,
    MCP_PRUNER_RPC_URL: `${url}/rpc`,
    NO_PROXY: direct,
    no_proxy: direct,
  };
}
