import { setTimeout as sleep } from 'node:timers/promises';
import type { ProjectRetention } from '../../core/ports/project-settings.ts';
import { groupBy } from '../../engine/group-by.ts';
import type { Lifetimes } from '../lifetimes.ts';
import { type MovedTable, movedWith } from '../move/tables.ts';
import type { PartTables } from '../part-tables.ts';
import { change, type Sql, type Steps } from '../sql/steps.ts';
import { childrenOf, eraseEvents } from './events.ts';
import { linkedPrunes, neededElsewhere, type Owner } from './links.ts';
import { noteErased } from './replicas.ts';
import { type Erased, parts, reportOf, type Subject } from './report.ts';
import { expireProject } from './retention.ts';
import type { Scrubber } from './scrub.ts';
import {
  eraseBills,
  eraseConversations,
  eraseKey,
  eraseProjectRows,
  eraseReplies,
  eraseSent,
  eraseSettings,
  eraseWholeDecisions,
  forgetPayer,
  releasePrunes,
} from './steps.ts';
import { type Found, findTraces, type Traces } from './traces.ts';

/** Prunes and conversations per transaction, so that other writers do not wait long. */
const PRUNES_AT_ONCE = 10;
const CONVERSATIONS_AT_ONCE = 50;
/** Number of passes, because servers write events, bills and conversations about a second late. */
const ROUNDS = 3;
const LATE_MS = 1_500;

/** The data to erase. */
export interface Plan {
  readonly owners: readonly Owner[];
  readonly gone: readonly string[];
  readonly shared: number;
  readonly hashes: readonly string[];
  readonly children: readonly string[];
  readonly traces: Traces;
  readonly before: Found;
}

/** Erases the data of a project or a person, then searches the store for traces. */
export class Erasure {
  readonly #sql: Sql;
  readonly #scrubber: Scrubber;
  readonly #parts: readonly PartTables[];
  readonly #tables: readonly MovedTable[];
  readonly #lifetimes: Lifetimes;
  readonly #onDeleted: (() => Promise<void>) | undefined;

  /**
   * @param onDeleted - called after deletions, to invalidate this process's caches. Present if replicas share the store:
   * they also erase their own records
   */
  constructor(
    sql: Sql,
    scrubber: Scrubber,
    parts: readonly PartTables[],
    lifetimes: Lifetimes,
    onDeleted?: () => Promise<void>,
  ) {
    this.#sql = sql;
    this.#scrubber = scrubber;
    this.#parts = parts;
    this.#tables = movedWith(parts);
    this.#lifetimes = lifetimes;
    this.#onDeleted = onDeleted;
  }

  /** Reports what `erase` would delete. Changes nothing. */
  async preview(subject: Subject): Promise<Erased> {
    return reportOf(await this.#plan(subject), null);
  }

  /**
   * Erases in small transactions, so that servers can keep running. An interrupted erasure can be repeated.
   *
   * @param pseudonym - replaces names in events of the audit class
   * @param full - whether tables may be locked to rewrite their files
   */
  async erase(subject: Subject, pseudonym: string, full = false): Promise<Erased> {
    const plan = await this.#plan(subject);
    const samples = (await this.#scrubber.search(await this.#scrubber.samples(plan.gone), false))?.found ?? null;
    let renamed = 0;
    let whole = 0;
    let after = plan.before;
    let now = plan;
    for (let round = 1; ; round++) {
      renamed += await this.#eraseOnce(now, subject, pseudonym);
      whole += await this.#sumOf(() => eraseWholeDecisions());
      after = await findTraces(this.#sql, this.#tables, now.traces);
      if (after.byTable.size === 0 || round === ROUNDS) break;
      await sleep(LATE_MS);
      now = await this.#plan(subject, now);
    }
    await this.#onDeleted?.();
    const scrubbed = await this.#scrubber.scrub(full);
    const files = samples && (await this.#scrubber.search(samples, true));
    return reportOf(plan, { after, renamed, whole, scrubbed, samples: samples?.length ?? 0, files });
  }

  /** See `expireProject`. */
  async expire(retention: ProjectRetention, ttlMs: number): Promise<boolean> {
    const more = await expireProject(this.#sql, retention, ttlMs, this.#parts);
    await this.#onDeleted?.();
    return more;
  }

  /** @returns the number of renamed audit events */
  async #eraseOnce({ owners, gone, hashes, children, traces }: Plan, subject: Subject, name: string): Promise<number> {
    if (this.#onDeleted) await this.#sql.write((nowMs) => noteErased(gone, nowMs), { waitMs: WAIT_MS });
    // then the data that is only reachable through the prunes
    await this.#eraseSent(new Set(gone));
    await this.#write(function* () {
      for (const { project } of owners) yield* eraseReplies(project);
    });
    for (const owner of owners) await this.#eraseTexts(owner);
    const renamed = await eraseEvents(this.#sql, traces, name);
    for (const part of this.#parts) {
      await this.#write(() => part.eraseChildren?.(children) ?? nothing());
      for (const { project, conversations, whole } of owners) {
        const subjects = whole ? ['all' as const] : parts(conversations, CONVERSATIONS_AT_ONCE);
        for (const some of subjects) {
          await this.#write(() => part.eraseNames?.({ project, conversations: some }) ?? nothing());
        }
      }
      if ('payer' in subject) await this.#write(() => part.eraseNames?.(subject) ?? nothing());
    }
    await this.#write(function* () {
      yield* change('DELETE FROM main.child_log WHERE child_id IN LIST(?)', [children]);
      yield* change('DELETE FROM main.served WHERE hash IN LIST(?)', [hashes]);
    });
    for (const { project, conversations } of owners) {
      for (const some of parts(conversations, CONVERSATIONS_AT_ONCE))
        await this.#write(() => eraseBills(project, some));
    }
    if ('project' in subject) await this.#eraseProject(subject);
    else await this.#erasePayer(subject.payer);
    return renamed;
  }

  /** Releases texts from an owner, and erases all data about its conversations except bills and events. */
  async #eraseTexts(owner: Owner): Promise<void> {
    const { project, conversations } = owner;
    const linked = await this.#sql.read(() => linkedPrunes(owner));
    for (const some of parts(linked, PRUNES_AT_ONCE)) await this.#write(() => releasePrunes(owner, some));
    for (const some of parts(conversations, CONVERSATIONS_AT_ONCE))
      await this.#write(() => eraseConversations(project, some));
  }

  /** @param before - the plan of the previous round */
  async #plan(subject: Subject, before?: Plan): Promise<Plan> {
    const owners = await ('project' in subject
      ? this.#ofProject(subject.project)
      : this.#ofPayer(subject.payer, before?.owners));
    const gone: string[] = [];
    const ids = new Set<string>(before?.traces.ids);
    let needed = 0;
    for (const owner of owners) {
      const linked = await this.#sql.read(() => linkedPrunes(owner));
      for (const some of parts(linked, 500)) {
        const stay = await this.#sql.read(() => neededElsewhere(owner, some));
        needed += stay.size;
        gone.push(...some.filter((id) => !stay.has(id)));
      }
      const shared = await this.#namedElsewhere(owner);
      for (const name of owner.conversations) if (!shared.has(name)) ids.add(name);
    }
    const { keys, hashes } = await this.#namesOf(gone);
    const children = await childrenOf(this.#sql, [...ids]);
    for (const id of [...gone, ...keys, ...hashes, ...children]) ids.add(id);
    const traces = {
      ids,
      within: new Set(owners.map(({ project }) => project)),
      project: 'project' in subject ? subject.project : null,
      payer: 'payer' in subject ? subject.payer : null,
    };
    return {
      owners,
      gone,
      shared: needed,
      hashes,
      children,
      traces,
      before: before?.before ?? (await findTraces(this.#sql, this.#tables, traces)),
    };
  }

  async #ofProject(project: string): Promise<Owner[]> {
    const rows = await this.#sql.all<{ name: string }>(
      'SELECT DISTINCT c.name FROM main.conversation c WHERE FIRST_LINE(c.project) = ?',
      [project],
    );
    return [{ project, conversations: rows.map(({ name }) => name), whole: true }];
  }

  /** Finds the conversations that a key paid for, as far as the ledger still has their bills. */
  async #ofPayer(payer: string, known: readonly Owner[] = []): Promise<Owner[]> {
    const rows = await this.#sql.all<{ project: string; conversation: string }>(
      "SELECT DISTINCT project, conversation FROM main.ledger_turn WHERE key_id = ? AND key_id <> '' AND conversation <> ''",
      [payer],
    );
    // an earlier pass has already removed the payer from the bills
    for (const { project, conversations } of known) {
      rows.push(...conversations.map((conversation) => ({ project, conversation })));
    }
    const byProject = groupBy(rows, ({ project }) => project);
    return [...byProject].map(([project, own]) => ({
      ...{ project, whole: false },
      conversations: [...new Set(own.map(({ conversation }) => conversation))],
    }));
  }

  /** Conversations of other projects with the same names, because they began with the same words. */
  async #namedElsewhere({ project, conversations }: Owner): Promise<ReadonlySet<string>> {
    const rows = await this.#sql.all<{ name: string }>(
      'SELECT c.name FROM main.conversation c WHERE c.name IN LIST(?) AND FIRST_LINE(c.project) <> ?',
      [conversations, project],
    );
    return new Set(rows.map(({ name }) => name));
  }

  /** Keys of decisions, and hashes of texts that no other prune needs. */
  async #namesOf(pruneIds: readonly string[]) {
    const keys: string[] = [];
    const hashes: string[] = [];
    const going = new Set(pruneIds);
    for (const some of parts(pruneIds, 500)) {
      const decisions = await this.#sql.all<{ key: string }>(
        `SELECT d.key FROM main.decision d JOIN main.prune p ON p.id = d.prune WHERE p.prune_id IN LIST(?)`,
        [some],
      );
      keys.push(...decisions.map(({ key }) => key));
      const texts = await this.#sql.all<{ hash: string; prune_id: string }>(
        `SELECT s.hash, o.prune_id FROM main.snapshot s JOIN main.prune o ON o.snapshot = s.id
         WHERE s.id IN (SELECT snapshot FROM main.prune WHERE prune_id IN LIST(?))`,
        [some],
      );
      const needed = new Set(texts.flatMap(({ hash, prune_id }) => (going.has(prune_id) ? [] : hash)));
      hashes.push(...new Set(texts.flatMap(({ hash }) => (needed.has(hash) ? [] : hash))));
    }
    return { keys, hashes };
  }

  async #eraseSent(pruneIds: ReadonlySet<string>): Promise<void> {
    const { ttlMs, sentTtlMs } = this.#lifetimes;
    const expiredMs = this.#sql.nowMs() + sentTtlMs - ttlMs;
    for (let after: number | null = 0; after !== null; ) {
      const from: number = after;
      after = await this.#write(() => eraseSent(pruneIds, expiredMs, from));
    }
  }

  async #eraseProject({ project, withSettings }: { readonly project: string; readonly withSettings: boolean }) {
    await this.#repeat(() => eraseProjectRows(project));
    if (withSettings) await this.#write(() => eraseSettings(project));
  }

  async #erasePayer(payer: string): Promise<void> {
    await this.#repeat(() => forgetPayer(payer));
    await this.#sql.write((nowMs) => eraseKey(payer, nowMs), { waitMs: WAIT_MS });
  }

  #write<T>(work: () => Steps<T>): Promise<T> {
    return this.#sql.write(work, { waitMs: WAIT_MS });
  }

  /** Repeats a step until it reports that nothing is left to do. */
  async #repeat(work: () => Steps<boolean>): Promise<void> {
    while (await this.#write(work));
  }

  /** Like `#repeat`. @returns the total number of rows */
  async #sumOf(work: () => Steps<number>): Promise<number> {
    let sum = 0;
    for (let rows = 1; rows > 0; sum += rows) rows = await this.#write(work);
    return sum;
  }
}

const WAIT_MS = 10_000;

function* nothing(): Steps<void> {}
