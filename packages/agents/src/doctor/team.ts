import type { Finding } from 'mcp-pruner/app/finding.ts';
import { fileReader, type Io } from 'mcp-pruner/cli/command.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { clients } from '../clients/all.ts';
import { KEY_VARIABLE, teamKey } from '../team-key.ts';
import { postStatus } from './probe.ts';

const KEYED = /(https?:\/\/[\w.:[\]-]{1,262})\/k\/([\w-]{1,64})/g;
const BASE_URL = /_(?:BASE_URL|API_BASE)$/;
const MAX_FILE_CHARS = 4 * 1024 * 1024;

/**
 * Checks whether this user's keys are valid at the proxies that the agents use. Keys are sent only to their proxy, and
 * never printed.
 */
export async function checkTeamKeys(io: Io): Promise<Finding[]> {
  const addresses = keyedAddresses(io);
  const checks = await Promise.all([...addresses].map(([address, where]) => checkAddress(address, where)));
  return [...checkVariable(io), ...checks];
}

function checkVariable(io: Io): Finding[] {
  try {
    return teamKey(io) === null ? [] : [{ level: 'ok', what: `${KEY_VARIABLE} is a key` }];
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause;
    return [{ level: 'failure', what: cause.message }];
  }
}

/** URLs with a key, each with the place of its first occurrence. */
function keyedAddresses(io: Io): Map<string, string> {
  const read = fileReader(io);
  const place = { env: io.env, homeDir: io.homeDir, readFile: read };
  const wiring = { baseUrl: '', origin: '', mcp: { transport: 'http', url: '' }, model: null } as const;
  const files = new Set(clients.flatMap((client) => client.edits(wiring, place).map(({ file }) => file)));
  const texts = [
    ...Object.entries(io.env).filter(([name]) => BASE_URL.test(name)),
    ...[...files].map((file) => [file, read(file)?.slice(0, MAX_FILE_CHARS)] as const),
  ];
  const found = new Map<string, string>();
  for (const [where, text = ''] of texts) {
    for (const [address] of text.matchAll(KEYED)) if (!found.has(address)) found.set(address, where);
  }
  return found;
}

async function checkAddress(address: string, where: string): Promise<Finding> {
  const origin = address.slice(0, address.indexOf('/k/'));
  const status = await postStatus(`${address}/rpc`, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  if (status === 200) return { level: 'ok', what: `${origin} accepts the key in ${where}` };
  const advice =
    status === 401 || status === 403
      ? `ask for another one (mcp-pruner keys create, rotate), put it into ${KEY_VARIABLE}, and run setup again`
      : 'is the proxy there?';
  return { level: 'failure', what: `${origin} answers ${status} to the key in ${where}`, advice };
}
