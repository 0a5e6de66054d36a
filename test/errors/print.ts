import type { ErrorRow } from '../../src/error-rows/error-row.ts';
import { errorTable, fallbackTable } from '../../src/errors.ts';

/** `docs/errors.md`. */
export function errorsPage(): string {
  const rows: readonly [string, ErrorRow][] = Object.entries(errorTable);
  const rpc = rows
    .flatMap(([code, row]) => (row.rpc === null ? [] : [{ code, number: row.rpc, ...row }]))
    .sort((a, b) => b.number - a.number);
  const http = rows
    .flatMap(([code, row]) => (row.http === null ? [] : [{ code, status: row.http, ...row }]))
    .sort((a, b) => a.status - b.status);
  return `# Errors

Every failure that a client can see. This page is printed from the table in \`src/errors.ts\`
(\`npx vitest run test/errors -u\`). Codes and numbers are public: rows are added, none is renumbered.

A failure inside the proxy is none of these: the request is then forwarded as it came, the log says why, and the client
notices nothing. What the model's provider answers, errors included, passes as it is.

## Calls of \`POST /rpc\` and over stdio

\`\`\`json
{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"prune_id_not_found","data":{"code":"prune_id_not_found","prune_id":"prn_…","hint":"…"}}}
\`\`\`

An answer to a readable request is always a 200; its body says what failed. \`message\` is the code. Errors of fleet tools
add the hint to it, and the five numbers of JSON-RPC itself have a sentence. \`data.hint\` says what to do.

| number | code | when | what to do |
| --- | --- | --- | --- |
${rpc.map(({ code, number, about, hint }) => `| ${number} | \`${code}\` | ${about} | ${hint} |`).join('\n')}

## HTTP

Answers of our own on the model's routes have the shape that clients of the provider expect, elsewhere
\`{"error": {"message": "…", "type": "<code>"}}\`.

| status | code | when | what to do |
| --- | --- | --- | --- |
${http.map(({ code, status, about, hint }) => `| ${status} | \`${code}\` | ${about} | ${hint} |`).join('\n')}

## Fallbacks

Codes in \`fallbacks\` of a request's log line, in events and in the metrics: the request was forwarded, and the client notices
nothing. Beside them stand \`store_<reason>\`, \`upstream_refused_<status>\`, the codes of [backends](backends.md) and those of
bodies that are not understood.

| code | when | what it means |
| --- | --- | --- |
${Object.entries(fallbackTable)
  .map(([code, { about, hint }]) => `| \`${code}\` | ${about} | ${hint} |`)
  .join('\n')}
`;
}
