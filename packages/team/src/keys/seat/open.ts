import type { Services } from 'mcp-pruner/app/compose.ts';
import type { Guest } from 'mcp-pruner/app/guest.ts';
import { Ownership } from 'mcp-pruner/core/ownership.ts';
import type { KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { ProjectStore } from 'mcp-pruner/core/ports/projects.ts';
import { keyError } from '../errors.ts';
import { Gate } from '../gate.ts';
import { Identities } from '../identity.ts';
import { KeyRing } from '../key-ring.ts';
import { Refusals } from '../refusals.ts';
import { KeyDoor } from './door.ts';

/** Retry interval for assigning owners to prunes, if the store could not be written. */
const ADOPT_AGAIN_MS = 10_000;

export async function openKeys(services: Services): Promise<Guest> {
  const { settings, store, events, clock, log, failures } = services;
  const onFailure = failures.of({ extension: 'keys' });
  const keys = once<KeyStore>(() => store.keys());
  const projects = once<ProjectStore>(() => store.projects());
  const ring = new KeyRing({ keys, clock, onKeys: (listener) => store.onKeys(listener), onFailure });
  const refusals = new Refusals(events, clock);
  const gate = new Gate({ ring, keys, refusals, clock, onFailure });
  await ring.start();
  if (ring.size === 0 && settings.signIn.header === null)
    log.warn('keys are required, but there is none: create one with mcp-pruner keys create');
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
  const owners = new Ownership(projects, store);
  const identities = identitiesOf(settings);
  return {
    name: 'keys',
    rows: {
      door: async ({ destinations }) => {
        const door = new KeyDoor({ gate, identities, destinations, onFailure });
        return (coming) => door.enter(coming);
      },
      views: {
        open: async (input) => (await import('./views.ts')).viewsByKey({ gate, owners, projects }, input),
        refusal: keyError('key_missing'),
      },
      readings: { keys: async () => (await import('./page.ts')).keysOnPage(services, await keys()) },
      budgets: () => ring.budgets(),
    },
    access: {
      owners,
      onChanged: (listener) => ring.onChanged(listener),
      onOverBudget: (code, keyId) => gate.refused(code, keyId),
    },
    async close() {
      clearTimeout(adopting);
      refusals.flush();
      await ring.close();
    },
  };
}

function identitiesOf(settings: Services['settings']): Identities | undefined {
  const { header: userHeader, groups_header: groupsHeader, proxies, groups: groupProjects } = settings.signIn;
  return userHeader === null ? undefined : new Identities({ userHeader, groupsHeader, proxies, groupProjects });
}

/** Wraps a function so that it runs only once, on first use. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open();
    return opened;
  };
}
