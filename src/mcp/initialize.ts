import { invalidParams, type JsonObject } from './json-rpc.ts';

/** Versions of the Model Context Protocol that clients of this server may speak, newest first. */
export const PROTOCOL_VERSIONS: readonly [string, ...string[]] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];

/**
 * Sent to every agent in the answer to `initialize`: what a marker is, how to recover its lines, and what to do on
 * failure. Codex's code mode shows only the first 250 characters, so the first sentence names the tool.
 */
export const INSTRUCTIONS = [
  'recover_text returns lines that were cut from tool results and files in this conversation: call it with the prune_id and lines of a marker.',
  'A marker "⟦PRUNÉ: prune_id=<id> lignes <start>-<end> (<count>) raison=<reason>⟧" stands in for <count> original lines',
  '(a marker without prune_id has that of the one above it); all other lines are verbatim, and line numbers count in the text as the tool returned it.',
  'Pass ranges [{"start_line": <start>, "end_line": <end>}] (any lines of the original text) and include_line_numbers, or without that tool run',
  '"mcp-pruner recover <id> --lines <start>-<end>"; do so before you edit across a marker, and never copy a marker into a',
  'file.',
  'If recover_text answers prune_id_not_found, do not retry: read the file or run the command again.',
].join(' ');

/**
 * The protocol version to answer `initialize` with: the client's own if supported, otherwise the newest.
 *
 * @param strict - whether clients must send a version
 * @throws RpcError -32602 if the version is missing (strict) or not a string
 */
export function negotiateVersion({ protocolVersion }: JsonObject, strict: boolean): string {
  const [newest] = PROTOCOL_VERSIONS;
  const missing = protocolVersion === undefined || protocolVersion === null;
  if (missing && !strict) return newest;
  if (typeof protocolVersion !== 'string')
    throw invalidParams({ field: 'protocolVersion', message: 'expected a string' });
  return PROTOCOL_VERSIONS.includes(protocolVersion) ? protocolVersion : newest;
}
