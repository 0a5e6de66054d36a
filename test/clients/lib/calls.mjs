import { join } from 'node:path';
import { LOG_COMMAND, SOURCE_PATH } from './project.mjs';

/**
 * A call on one of the tools that a client declared, its arguments filled in from what their names mean.
 *
 * @param {{ function?: { name?: string, parameters?: object } }[]} tools - as they stand in the request
 * @param {readonly string[]} names - the first one declared is called
 * @param {Record<string, unknown>} meanings - argument name to value; those that the tool does not have are left out
 * @returns {{ name: string, args: Record<string, unknown> }}
 */
function callOn(tools, names, meanings) {
  const found = names
    .map((name) => tools.find((each) => each.function?.name === name))
    .find((each) => each !== undefined);
  if (found?.function?.name === undefined) {
    throw new Error(`none of ${names.join(', ')} among ${tools.map((each) => each.function?.name).join(', ')}`);
  }
  const { properties = {}, required = [] } = found.function.parameters ?? {};
  const unknown = required.filter((name) => !(name in meanings));
  if (unknown.length > 0) throw new Error(`${found.function.name} wants ${unknown.join(', ')}`);
  const args = Object.entries(meanings).flatMap(([name, value]) => {
    if (!(name in properties)) return [];
    // Codex wants the words of a command.
    const words = name === 'command' && properties[name]?.type === 'array';
    return [[name, words ? ['/bin/sh', '-c', value] : value]];
  });
  return { name: found.function.name, args: Object.fromEntries(args) };
}

/** Steps that need the proxy's own tools; a run without the proxy leaves them out. */
export const PROXY_STEPS = ['find-tool', 'recover'];

/** Reads the source file with the client's own tool. */
export function readCall(names) {
  return (tools, { work }) => {
    const path = join(work, SOURCE_PATH);
    return callOn(tools, names, {
      path,
      file_path: path,
      filePath: path,
      filepath: path,
      absolute_path: path,
      files: [{ path }],
      // Without it, some clients refuse a file of this size.
      forceReadLargeFiles: true,
    });
  };
}

/** Runs a command, by default the one that prints the log, with the client's own shell tool. */
export function shellCall(names, command = LOG_COMMAND) {
  return (tools) =>
    callOn(tools, names, {
      command,
      cmd: command,
      commands: [command],
      description: 'Print the nightly log',
      is_background: false,
      mode: 'sync',
      initial_wait: 30,
    });
}

/** A marker anywhere in a text; it may stand in JSON in a string. Only the first one of a text names the prune id. */
const MARKER_INSIDE = /⟦PRUNÉ: (?:prune_id=(\S+) )?lignes (\d+)-(\d+) \(\d+\)/gu;

/**
 * Asks for the longest cut back, with the tool of the proxy that the client offers over MCP, under whatever name.
 */
export function recoverCall(tools, { messages }) {
  let pruneId = '';
  const cuts = [...JSON.stringify(messages).matchAll(MARKER_INSIDE)].map(([, named, start, end]) => {
    pruneId = named ?? pruneId;
    return { pruneId, start: Number(start), end: Number(end) };
  });
  const [longest] = cuts.sort((a, b) => b.end - b.start - (a.end - a.start));
  if (longest === undefined) throw new Error('no marker to recover');
  const declared = tools.map((each) => each.function ?? {});
  const range = { start_line: longest.start, end_line: longest.end };
  const args = { prune_id: longest.pruneId, ranges: [range], include_line_numbers: false };
  // Qwen Code keeps the tools of MCP servers out of its list, and calls them by one of its own
  if (declared.some((each) => each.name === 'tool_call'))
    return { name: 'tool_call', args: { name: 'mcp__pruner__recover_text', arguments: args } };
  const { name, namespace } = declared.find((each) => /recover_text$/.test(each.name)) ?? {};
  if (name === undefined) throw new Error(`no recover_text among ${declared.map((each) => each.name).join(', ')}`);
  return { name, namespace, args };
}
