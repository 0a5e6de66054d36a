/** Variables that a child gets of the server's own environment, beside those that begin with `LC_`, `XDG_` or `SSL_CERT_`. */
const INHERITED = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR', 'NODE_EXTRA_CA_CERTS'],
  ...['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'],
]);
const INHERITED_PREFIXES = ['LC_', 'XDG_', 'SSL_CERT_'];
/** Never handed on, whoever names them: the server's own settings hold its token, its database and its provider's keys. */
const NEVER = /^(?:MCP_PRUNER_.*|DEEPINFRA_API_KEY)$/;
/** What no call and no setting can let a call set: where programs are found, what is loaded into them, where the model is. */
const RESERVED =
  /^(?:PATH|NODE_OPTIONS|LD_.*|DYLD_.*|MCP_PRUNER_.*|OPENAI_BASE_URL|OPENAI_API_BASE|ANTHROPIC_BASE_URL|GOOGLE_GEMINI_BASE_URL|NO_PROXY|no_proxy)$/;
/**
 * What a call may set: how output looks, the keys of providers, and names of the caller's own with a prefix that no program
 * reads. Anything else may name a file to load, a program to start or a folder of settings (`BASH_ENV`, `GIT_SSH_COMMAND`,
 * `PYTHONPATH`, `CODEX_HOME`), which would get round the list of commands.
 */
const SETTABLE =
  /^(?:LANG|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|COLUMNS|LINES|CI|(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE)_API_KEY|(?:MY|TASK|JOB|CHILD|WORKER|FLEET)_[A-Z0-9_]+)$/;
const LOOPBACK = '127.0.0.1,localhost,::1';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether a call may set a variable.
 *
 * @param allowed - further names that the configuration allows; one that ends in `*` stands for all that begin with it
 */
export function maySet(name: string, allowed: readonly string[] = []): boolean {
  if (RESERVED.test(name)) return false;
  return (
    SETTABLE.test(name) || allowed.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one))
  );
}

/** Where a child reaches the server. */
export interface ChildAddress {
  readonly childId: string;
  readonly token: string;
  /** `http://host:port/child/<token>`. */
  readonly url: string;
}

/**
 * The whole environment of a child.
 *
 * @param named - further variables of the server's that the configuration hands on
 * @param wiring - what the agent itself needs to be wired
 * @param own - what the call sets
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

const SECRET_NAME = /(?:key|token|secret|password|credentials?)$/i;
const MIN_SECRET_CHARS = 8;

/** Values that must not stand in a log. */
export function secretsOf(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && value.length >= MIN_SECRET_CHARS && SECRET_NAME.test(name) ? value : [],
  );
}
