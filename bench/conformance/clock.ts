/**
 * A CommonJS module that a process loads first: its `Date` is as many milliseconds after the real one as the file
 * says that `CONFORMANCE_CLOCK` names. Timers go on as they did.
 */
export const CLOCK_PRELOAD = `
const { readFileSync } = require('node:fs');
const RealDate = Date;
const path = process.env.CONFORMANCE_CLOCK;
let offset = 0;
let readAt = -Infinity;
function now() {
  const at = performance.now();
  if (at - readAt > 50) {
    readAt = at;
    try {
      offset = Number(readFileSync(path, 'utf8')) || 0;
    } catch {
      offset = 0;
    }
  }
  return RealDate.now() + offset;
}
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  apply: () => new RealDate(now()).toString(),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
`;
