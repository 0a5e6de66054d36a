/**
 * CPU time that this process has used, in milliseconds. Work that blocks is timed by it: a busy machine slows the clock's
 * time down many times over and leaves this one nearly alone.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
