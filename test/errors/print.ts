import { errorsOfFleet } from '@mcp-pruner/fleet/errors.ts';
import { errorsOfKeys } from '@mcp-pruner/team/keys/errors.ts';
import { errorTable, fallbackTable } from '../../src/errors/errors.ts';
import type { ErrorRow } from '../../src/errors/rows/error-row.ts';

/** The failures of the product and of its parts. */
export const allErrors: readonly (readonly [string, ErrorRow])[] = [errorTable, errorsOfFleet, errorsOfKeys].flatMap(
  (table) => Object.entries<ErrorRow>(table),
);

/** `docs/errors.md`. */
export function errorsPage(): string {
  const rpc = allErrors
    .flatMap(([code, row]) => (row.rpc === null ? [] : [{ code, number: row.rpc, ...row }]))
    .sort((a, b) => b.number - a.number);
  const http = allErrors
    .flatMap(([code, row]) => (row.http === null ? [] : [{ code, status: row.http, ...row }]))
    .sort((a, b) => a.status - b.status);
  return `# Errors

Every failure that a client can see. Codes and numbers are public: added to, never changed. The provider's errors pass unchanged.

## Calls of \`POST /rpc\` and over stdio

\`\`\`json
{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"prune_id_not_found","data":{"code":"prune_id_not_found","prune_id":"prn_…","hint":"…"}}}
\`\`\`

Every readable request is answered with status 200. \`message\` is the code, with the hint behind it for fleet tools; the five numbers
of JSON-RPC itself have a sentence. \`data.hint\` says what to do, and what happened if the code does not.

${listOf(
  rpc.filter(({ code }) => !isOfFleet(code)),
  ({ number, http, code }) => `${number} \`${code}\`${http === null ? '' : ` (HTTP ${http})`}`,
)}

Errors of the [fleet](fleet.md) are \`E-…\` (-32020 to -32061); their hint and \`data\` say what to do.

## HTTP

Answers to HTTP requests have these codes, and those above with a status; the message says what to do. On model routes they have the provider's
shape, elsewhere \`{"error": {"message": "…", "type": "<code>"}}\`.

${listOf(
  http.filter(({ rpc }) => rpc === null),
  ({ status, code }) => `${status} \`${code}\``,
)}

## Fallbacks

Codes in \`fallbacks\` of a request's log line, in events and in metrics. The request was forwarded, and the client notices nothing.
There are also \`store_<reason>\`, \`upstream_refused_<status>\`, the codes of [backends](configuration.md#backends) and those of
[unreadable requests](wires.md#requests-that-cannot-be-read).

${Object.entries(fallbackTable)
  .map(([code, { about }]) => `- \`${code}\`: ${about}`)
  .join('\n')}
`;
}

function isOfFleet(code: string): boolean {
  return code.startsWith('E-');
}

/** What happened; after that, the codes that say it themselves: every answer has the hint. */
function listOf<T extends ErrorRow>(errors: readonly T[], name: (error: T) => string): string {
  const rows = errors.flatMap((error) => (error.about === undefined ? [] : [`- ${name(error)}: ${error.about}`]));
  const plain = errors.filter(({ about }) => about === undefined);
  return [...rows, `- also ${plain.map(name).join(', ')}`].join('\n');
}
