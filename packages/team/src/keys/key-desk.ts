import type { AccessKey, KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { Clock, EventRecord } from 'mcp-pruner/core/ports.ts';
import { changeOf, type IssuedKey, type KeyInput, type ShownKey, shown } from './key-input.ts';
import { hashOfKey, newKeyId, newKeyText } from './key-text.ts';
import { keyEvent } from './refusals.ts';

interface KeyDeskOptions {
  readonly keys: () => Promise<KeyStore>;
  readonly clock: Clock;
  /** Records an action in the audit trail. */
  readonly record: (events: readonly EventRecord[]) => Promise<void>;
  /** Origin of the change: `cli` or `admin_api`. */
  readonly by: string;
}

/** Issues, lists, changes and revokes keys, with an audit trail. Events never contain the key itself. */
export class KeyDesk {
  readonly #options: KeyDeskOptions;

  constructor(options: KeyDeskOptions) {
    this.#options = options;
  }

  /** Issues all keys or none. @returns `null` if the store would exceed its maximum number of keys */
  async issue(inputs: readonly KeyInput[]): Promise<readonly IssuedKey[] | null> {
    const { keys, clock } = this.#options;
    const nowMs = Math.trunc(clock.nowMs());
    const made = inputs.map((input) => ({ text: newKeyText(), input }));
    const rows = made.map(
      ({ text, input }): AccessKey => ({
        id: newKeyId(),
        hash: hashOfKey(text),
        ...{ name: input.name, projects: input.projects },
        ...{ requestsPerMinute: null, tokensPerDay: null, dollarsPerMonth: null, expiresMs: null },
        ...changeOf(input, nowMs),
        ...{ createdMs: nowMs, revokedMs: null, lastUsedMs: null },
      }),
    );
    if (!(await (await keys()).create(rows))) return null;
    await this.#record('key_created', rows, ({ projects }) => ({ projects }));
    return rows.map((row, i) => ({ ...shown(row, nowMs), key: made[i]?.text ?? '' }));
  }

  /** Keys in creation order. @param after - id of the previous page's last key */
  async list(after: string | undefined, limit: number): Promise<readonly ShownKey[]> {
    const nowMs = this.#options.clock.nowMs();
    const page = await (await this.#options.keys()).list({ after, limit });
    return page.map((key) => shown(key, nowMs));
  }

  /** @returns `null` if there is no such key, or it was revoked */
  async change(id: string, input: Partial<KeyInput>): Promise<ShownKey | null> {
    const nowMs = this.#options.clock.nowMs();
    const changed = await (await this.#options.keys()).change(id, changeOf(input, nowMs));
    if (changed === null) return null;
    await this.#record('key_changed', [changed], () => ({ changed: Object.keys(input).join(', ') }));
    return shown(changed, nowMs);
  }

  /** @returns `null` if there is no such key, or it was revoked */
  async revoke(id: string): Promise<ShownKey | null> {
    const { keys, clock } = this.#options;
    const store = await keys();
    const key = await store.change(id, {});
    if (key === null || !(await store.revoke(id, clock.nowMs()))) return null;
    await this.#record('key_revoked', [key]);
    return shown(key, clock.nowMs());
  }

  /** Replaces a key's secret. @returns `null` if there is no such key, or it was revoked */
  async rotate(id: string): Promise<IssuedKey | null> {
    const { keys, clock } = this.#options;
    const store = await keys();
    const text = newKeyText();
    const key = await store.change(id, {});
    if (key === null || !(await store.rotate(id, hashOfKey(text)))) return null;
    await this.#record('key_rotated', [key]);
    return { ...shown(key, clock.nowMs()), key: text };
  }

  async #record(
    kind: Parameters<typeof keyEvent>[0],
    keys: readonly AccessKey[],
    more: (key: AccessKey) => EventRecord['payload'] = () => ({}),
  ): Promise<void> {
    const { clock, by, record } = this.#options;
    await record(
      keys.map((key) => keyEvent(kind, clock.nowMs(), { key_id: key.id, name: key.name, by, ...more(key) })),
    );
  }
}
