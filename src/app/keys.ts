import { Ownership } from '../core/ownership.ts';
import type { Budget } from '../core/ports/budgets.ts';
import type { KeyGate } from '../core/ports/key-gate.ts';
import type { KeyStore } from '../core/ports/keys.ts';
import type { ProjectStore, Viewer } from '../core/ports/projects.ts';
import { Gate } from '../keys/gate.ts';
import { Identities } from '../keys/identity.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { Refusals } from '../keys/refusals.ts';
import { KeyDoor } from '../proxy/doors/key-door.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import type { Storage } from './storage.ts';

/** Keys as this server asks for them. */
export interface OpenKeys {
  readonly gate: KeyGate;
  readonly owners: Ownership;
  readonly projects: () => Promise<ProjectStore>;
  /** Whose a key is that is known by its id; `null` where there is none, or it is void. */
  viewer(keyId: string | null): Viewer | null;
  door(destinations: Destinations): KeyDoor;
  /** Writes pending events and last uses. Never rejects. */
  close(): Promise<void>;
  /** Budgets of keys. */
  readonly budgets: () => readonly Budget[];
}

/** What belonged to nobody is given its owners once the store can be written. */
const ADOPT_AGAIN_MS = 10_000;

/** Reads the keys, and follows them. Loaded only where requests must name one. */
export async function openKeys({ settings, store, events, clock, log, failures }: Storage): Promise<OpenKeys> {
  const onFailure = failures.of('keys');
  const keys = kept<KeyStore>(() => store.keys());
  const projects = kept<ProjectStore>(() => store.projects());
  const ring = new KeyRing({ keys, clock, onKeys: (listener) => store.onKeys(listener), onFailure });
  const refusals = new Refusals(events, clock);
  const gate = new Gate({ ring, keys, refusals, clock, onFailure });
  await ring.start();
  if (ring.size === 0 && settings.trustedAuthHeader === null)
    log.warn('keys are required and there is none: mcp-pruner keys create makes one');
  let adopting: NodeJS.Timeout | undefined;
  const adopt = async (): Promise<void> => {
    try {
      await (await projects()).adopt();
    } catch (cause) {
      onFailure('not_adopted', cause);
      adopting = setTimeout(() => void adopt(), ADOPT_AGAIN_MS).unref();
    }
  };
  await adopt();
  return {
    gate,
    owners: new Ownership(projects, store),
    projects,
    viewer: (keyId) => (keyId === null ? null : (gate.known(keyId)?.admitted.viewer ?? null)),
    door: (destinations) => new KeyDoor({ gate, identities: identitiesOf(settings), destinations, onFailure }),
    budgets: () => ring.budgets(),
    async close() {
      clearTimeout(adopting);
      refusals.flush();
      await ring.close();
    },
  };
}

function identitiesOf(settings: Storage['settings']): Identities | undefined {
  const { trustedAuthHeader: userHeader, trustedGroupsHeader: groupsHeader, trustedProxies: proxies } = settings;
  if (userHeader === null) return undefined;
  return new Identities({ userHeader, groupsHeader, proxies, groupProjects: settings.groupProjects });
}

/** What is opened once, with its first use. */
function kept<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open();
    return opened;
  };
}
