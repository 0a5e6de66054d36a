import { StoredFleet } from '../../../src/parts/fleet/tables/fleet-store.ts';
import { type FleetBench, fleetStoreSuite } from '../../contract/fleet-store.suite.ts';
import { manualClock } from '../../contract/store.suite.ts';
import { openStore, tempPath } from '../../store/helpers.ts';

fleetStoreSuite('SQLite', async (): Promise<FleetBench> => {
  const clock = manualClock();
  const store = openStore(tempPath(), { clock, maxEvents: 20_000 });
  return {
    store: new StoredFleet(store.sql),
    clock,
    events: () => store.events({ fromSeq: 0, limit: 10_000 }),
    logs: (childId) => store.records.childLogs({ childId, fromSeq: 0, limit: 100 }),
  };
});
