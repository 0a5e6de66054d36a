/** Half-life of pheromones where `stig_decay` names none. */
export const HALF_LIFE_MS = 30_000;
/** Poll interval of behaviour trees. */
export const TICK_MS = 50;
