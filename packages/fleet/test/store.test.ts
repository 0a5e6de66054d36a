import { type FleetBench, fleetStoreSuite } from '../../../test/contract/fleet-store.suite.ts';
import { manualClock } from '../../../test/contract/store.suite.ts';
import { openStore, tempPath } from '../../../test/store/helpers.ts';
import { FleetStore } from '../src/tables/fleet-store.ts';

fleetStoreSuite('SQLite', async (): Promise<FleetBench> => {
  const clock = manualClock();
  const store = openStore(tempPath(), { clock, maxEvents: 20_000 });
  return {
    store: new FleetStore(store.sql),
    clock,
    events: () => store.events({ fromSeq: 0, limit: 10_000 }),
    logs: (childId) => store.records.childLogs({ childId, fromSeq: 0, limit: 100 }),
  };
});
