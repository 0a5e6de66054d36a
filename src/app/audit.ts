import { rows, type Settings } from '../config/settings.ts';
import { HIDDEN } from '../config/show.ts';
import { textHash } from '../core/hash.ts';
import type { EventRecord } from '../core/ports.ts';
import type { Storage } from './storage.ts';

/** Runs of audit events that belong to no conversation. */
const SERVER_RUN = 'server';
const HASH_CHARS = 8;
const MAX_NAMES = 100;

/** Notes who signed in to the page. */
export function signInsOf({ events, clock }: Pick<Storage, 'events' | 'clock'>): (keyId: string) => void {
  return (keyId) => {
    events.add([auditEvent(clock.nowMs(), 'signed_in', { key_id: keyId === '' ? null : keyId })]);
  };
}

/**
 * Adds an event where the server starts with other settings than the last time on this store: their names, no values. Never
 * rejects.
 */
export async function noteSettings({ settings, store, events, clock, failures }: Storage): Promise<void> {
  try {
    await store.ready();
    const values = hashesOf(settings);
    const before = await store.exchange('settings', JSON.stringify(values));
    if (before === null) return;
    const known = JSON.parse(before) as Readonly<Record<string, string>>;
    const changed = Object.keys(values).filter((name) => values[name] !== known[name]);
    if (changed.length === 0) return;
    events.add([auditEvent(clock.nowMs(), 'settings_changed', { settings: changed.slice(0, MAX_NAMES).join(', ') })]);
  } catch (cause) {
    failures.of('events')('settings_not_noted', cause);
  }
}

/** Of each setting, what stands for its value; of a secret only whether it is set. */
function hashesOf(settings: Settings): Record<string, string> {
  return Object.fromEntries(
    rows.map(({ key, setting }) => {
      const value = settings[key];
      const shown = setting.secret && value !== null ? HIDDEN : value;
      return [setting.env[0], textHash(JSON.stringify(shown)).slice(0, HASH_CHARS)];
    }),
  );
}

function auditEvent(tsMs: number, kind: string, payload: EventRecord['payload']): EventRecord {
  return { tsMs, kind, level: 'info', runId: SERVER_RUN, opId: null, payload, audit: true };
}
