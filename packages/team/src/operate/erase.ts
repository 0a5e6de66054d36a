import { createHash, randomBytes } from 'node:crypto';
import { type Call, type Command, flag, type Io, textOption, UsageError, valued } from 'mcp-pruner/cli/command.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import type { Erased, Subject } from 'mcp-pruner/store/erase/report.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';

export const eraseOptions: Command['options'] = {
  project: valued('<name>', 'erase: all texts, conversations, bills, events and figures of a project'),
  'with-settings': flag('erase --project: its own settings with their history as well'),
  user: valued('<name>', 'erase: the conversations of somebody who signed in, and the name everywhere'),
  key: valued('<key>', 'erase: the same for a key (id or name) that was revoked or has expired'),
  'vacuum-full': flag('erase: write the files of PostgreSQL tables anew, which locks the tables'),
  json: flag('erase: print the whole document'),
  'dry-run': flag('erase: count what would be erased, and change nothing'),
};

/**
 * `mcp-pruner store erase`: erases all data of a project or a person, and searches the store again.
 *
 * @returns 1 if a trace was left or may be left
 */
export async function eraseFromStore(call: Call, io: Io): Promise<number> {
  const named = (['project', 'user', 'key'] as const).filter((option) => textOption(call, option) !== undefined);
  const [of] = named;
  if (of === undefined || named.length > 1) throw new UsageError('erase needs one of --project, --user and --key');
  const isDry = call.values['dry-run'] === true;
  const withSettings = call.values['with-settings'] === true;
  if (withSettings && of !== 'project') throw new UsageError('--with-settings goes with --project');
  const erase = async (store: StoreHandle): Promise<number> => {
    await store.ready();
    const name = textOption(call, of) ?? '';
    const payer = of === 'project' ? null : await payerOf(store, of, name, io);
    const subject: Subject = payer === null ? { project: name, withSettings } : { payer };
    const namedSubject = { of, name: payer ?? name };
    const options = { isDry, full: call.values['vacuum-full'] === true, asJson: call.values.json === true };
    return eraseAndProve(store, { subject, namedSubject, ...options }, io);
  };
  return withStore(call, io, erase, isDry);
}

/** Name of a person in the ledger. @throws UserError for a key that is still valid */
async function payerOf(store: StoreHandle, of: 'user' | 'key', name: string, io: Io): Promise<string> {
  if (of === 'user') return `user:${name}`;
  const found = (await (await store.keys()).all()).filter((key) => key.id === name || key.name === name);
  const alive = found.filter(({ revokedMs, expiresMs }) => {
    return revokedMs === null && (expiresMs === null || expiresMs > io.clock.nowMs());
  });
  if (alive.length > 0) throw new UserError(`${name} is still valid: run mcp-pruner keys revoke ${name} first`);
  if (found.length > 1) throw new UserError(`several keys have the name ${name}: use an id from mcp-pruner keys list`);
  const [key] = found;
  // keys are deleted some time after they end, but their bills are kept
  if (!key && !/^key_\w+$/.test(name)) throw new UserError(`there is no key ${JSON.stringify(name)}`);
  return key?.id ?? name;
}

interface ErasureRequest {
  readonly subject: Subject;
  readonly namedSubject: { readonly of: string; readonly name: string };
  readonly isDry: boolean;
  readonly full: boolean;
  readonly asJson: boolean;
}

/** Erases, and prints the proof. The audit trail gets the proof's hash, but no name. */
async function eraseAndProve(
  store: StoreHandle,
  { subject, namedSubject, isDry, full, asJson }: ErasureRequest,
  io: Io,
): Promise<number> {
  const id = `erasure_${randomBytes(8).toString('hex')}`;
  const by = `cli:${io.env.USER ?? io.env.USERNAME ?? 'unknown'}`;
  const began = new Date(io.clock.nowMs()).toISOString();
  const erasure = await store.erasure();
  const erased: Erased = isDry ? await erasure.preview(subject) : await erasure.erase(subject, id, full);
  const ended = new Date(io.clock.nowMs()).toISOString();
  const head = { document: 'mcp-pruner erasure', id, dry_run: isDry, subject: namedSubject, by, began, ended };
  const retained = retainedData(subject);
  const text = `${JSON.stringify({ ...head, store: await store.id(), version: io.version, ...erased, kept: retained }, null, 2)}\n`;
  if (!isDry) {
    const rows = Object.values(erased.rows).reduce((sum, { before, after }) => sum + before - after, 0);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const payload = { id, of: namedSubject.of, rows, complete: erased.complete, document_sha256: sha256, by };
    const event = { tsMs: io.clock.nowMs(), kind: 'erasure', level: 'info', runId: 'server', opId: null } as const;
    await store.addEvents([{ ...event, payload, audit: true }]);
  }
  io.out(asJson ? text : summaryOf(erased, { id, isDry }));
  if (isDry || erased.complete) return 0;
  for (const line of erased.missing) io.err(`mcp-pruner: not complete: ${line}\n`);
  return 1;
}

/** Summary of the result in five lines. */
function summaryOf(erased: Erased, { id, isDry }: { readonly id: string; readonly isDry: boolean }): string {
  const { conversations, texts, texts_shared: shared, rows, searched_again: again, files, complete } = erased;
  const before = Object.values(rows).reduce((sum, row) => sum + row.before, 0);
  const notSearched = erased.not_searched.length > 0 ? erased.not_searched.join('; ') : 'nothing';
  const lines = isDry
    ? [
        `would erase ${conversations} conversations and ${texts} texts; ${shared} texts stay, because others sent them too`,
      ]
    : [
        `${complete ? 'erased' : 'NOT COMPLETE'}: ${conversations} conversations and ${texts} texts; ${shared} texts stay, because others sent them too`,
        `searched again: ${again.rows} rows of ${again.tables} tables, ${again.found} with a trace (before: ${before})`,
        `files: ${files?.did ?? 'not touched'}`,
        `not searched: ${notSearched}`,
        `audit trail: ${id} (the document for your records: --json)`,
      ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Data that is kept, because it does not belong to the subject or cannot be erased from here. */
function retainedData(subject: Subject): readonly string[] {
  const common = [
    'audit events, in which the name is replaced by the id of this document',
    'totals by day, model and tool, which name nobody',
    'hashes of recovered lines and of refused conversations, which expire',
    'backups, logs of the server and of the database, and what clients and providers hold',
  ];
  if ('payer' in subject) return [...common, 'conversations whose bills the ledger no longer keeps'];
  const settings = subject.withSettings ? [] : ['settings of the project: they protect conversations that go on'];
  return [
    ...common,
    ...settings,
    'keys that open the project, and data that name no project: graphs, plans and boards',
  ];
}
