import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What every program below is started with. */
export const settings = {
  baseURL: process.env.CLIENT_BASE_URL ?? '',
  apiKey: process.env.CLIENT_API_KEY ?? '',
  mode: process.env.CLIENT_MODE ?? '',
  /** Address of an MCP server, or nothing. */
  rpcUrl: process.env.CLIENT_RPC_URL ?? '',
  task: process.env.CLIENT_TASK ?? '',
  followUp: process.env.CLIENT_FOLLOW_UP ?? '',
};

export const descriptions = { read_file: 'Reads a file of the project.', run_command: 'Runs a shell command.' };

/** The two tools of an agent, on the current folder. */
export const tools = {
  read_file: ({ path }) => readFileSync(path, 'utf8'),
  run_command: ({ command }) => execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', maxBuffer: 1 << 24 }),
};

/** JSON Schemas of their arguments. */
export const schemas = {
  read_file: object('path'),
  run_command: object('command'),
};

function object(key) {
  return { type: 'object', properties: { [key]: { type: 'string' } }, required: [key], additionalProperties: false };
}

/** Hands the final answer to the driver. */
export function finish(answer) {
  process.stdout.write(`${JSON.stringify({ answer })}\n`);
}
