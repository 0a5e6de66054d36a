import type { ToolResultCase } from '../case.ts';

const kind = 'stack trace';

/** A chain of small modules, as frameworks have them; the last one raises. */
function pythonChain(): Record<string, string> {
  const files: Record<string, string> = {};
  for (let i = 0; i < 24; i++) {
    const next = i < 23 ? `from layer_${i + 1} import handle as inner` : 'from settings import read_rate as inner';
    files[`layer_${i}.py`] =
      `${next}\n\n\ndef handle(request):\n    """Passes the request on to the next layer."""\n    return inner(request)\n`;
  }
  files['settings.py'] = `RATES = {'DE': 19, 'FR': 20}


class RateError(Exception):
    pass


def read_rate(request):
    try:
        return RATES[request['country']]
    except KeyError as cause:
        raise RateError('no tax rate for country XK') from cause
`;
  files['main.py'] = `import logging, sys
from layer_0 import handle
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format='%(levelname)s:%(name)s:%(message)s')
log = logging.getLogger('billing')
for n in range(60):
    log.info('invoice %d rendered for country DE', n)
handle({'country': 'XK'})
`;
  return files;
}

const JAVA = `import java.util.concurrent.*;
public class Main {
  static class RepositoryException extends RuntimeException { RepositoryException(String m, Throwable c) { super(m, c); } }
  static int depth(int n) { return n == 0 ? read(null) : depth(n - 1); }
  static int read(String row) { return row.length(); }
  static int load(int n) {
    try { return n == 0 ? depth(40) : load(n - 1); }
    catch (NullPointerException e) { throw new RepositoryException("row 17 of table orders is null", e); }
  }
  static int service(int n) {
    try { return n == 0 ? load(12) : service(n - 1); }
    catch (RepositoryException e) { throw new IllegalStateException("cannot build the report", e); }
  }
  public static void main(String[] args) throws Exception {
    for (int i = 0; i < 40; i++) System.out.println("INFO  ReportJob - page " + i + " written");
    ExecutorService pool = Executors.newFixedThreadPool(1);
    try { pool.submit(() -> service(20)).get(); }
    finally { pool.shutdown(); }
  }
}
`;

const JS = `import { readFile } from 'node:fs/promises';
const settle = async (n) => (n === 0 ? readFile('/nonexistent/tenant-42.json') : await settle(n - 1));
async function loadTenant(id) {
  try { return await settle(12); } catch (cause) { throw new Error('tenant ' + id + ' has no configuration', { cause }); }
}
for (let i = 0; i < 50; i++) console.log('GET /tenants/' + i + ' 200 in ' + (3 + (i % 7)) + ' ms');
function deep(n) { if (n === 0) throw new TypeError('limit.total is not a function'); deep(n - 1); }
const results = await Promise.allSettled([loadTenant(42), loadTenant(43), new Promise(() => deep(8))]);
throw new AggregateError(results.map((r) => r.reason), 'three of three jobs failed');
`;

const RUST = `use std::collections::BTreeMap;
fn lookup(map: &BTreeMap<u32, u32>, key: u32) -> u32 { *map.get(&key).expect("no price for article 4711") }
fn walk(map: &BTreeMap<u32, u32>, depth: u32) -> u32 { if depth == 0 { lookup(map, 4711) } else { walk(map, depth - 1) + 1 } }
fn main() {
    for i in 0..60 { println!("priced article {} at {} cents", i, i * 100); }
    let map = BTreeMap::from([(1, 2)]);
    println!("{}", walk(&map, 25));
}
`;

export const stackTraces: readonly ToolResultCase[] = [
  {
    name: 'python-chained',
    kind,
    goal: 'The billing job crashes. What is the root cause, and in which file is it raised?',
    hints: { origin: 'command', command: 'python3 main.py' },
    fragments: [
      "KeyError: 'XK'",
      'settings.RateError: no tax rate for country XK',
      "raise RateError('no tax rate for country XK') from cause",
    ],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('python3 main.py', shop.folder(pythonChain()));
    },
  },
  {
    name: 'java-caused-by',
    kind,
    goal: 'ReportJob dies with an ExecutionException. What caused it in the end?',
    hints: { origin: 'command', command: 'java -jar report.jar' },
    fragments: [
      'Caused by: java.lang.IllegalStateException: cannot build the report',
      'row 17 of table orders is null',
      'Caused by: java.lang.NullPointerException: Cannot invoke "String.length()"',
      'at Main.read(Main.java:5)',
    ],
    make: (shop) => {
      shop.need('javac');
      return shop.sh('javac Main.java && java Main', shop.folder({ 'Main.java': JAVA }));
    },
  },
  {
    name: 'node-aggregate-error',
    kind,
    goal: 'node jobs.mjs fails: list the reasons of the failed jobs.',
    hints: { origin: 'command', command: 'node jobs.mjs' },
    fragments: [
      'AggregateError: three of three jobs failed',
      'tenant 42 has no configuration',
      'tenant 43 has no configuration',
      'TypeError: limit.total is not a function',
      "ENOENT: no such file or directory, open '/nonexistent/tenant-42.json'",
    ],
    make: (shop) => shop.sh('node jobs.mjs', shop.folder({ 'jobs.mjs': JS })),
  },
  {
    name: 'rust-panic-backtrace',
    kind,
    goal: 'The price import panics. Which function looked up which article?',
    hints: { origin: 'command', command: 'RUST_BACKTRACE=1 ./import' },
    fragments: ['no price for article 4711', 'main::lookup', 'main.rs:2:'],
    make: (shop) => {
      shop.need('rustc');
      return shop.sh(
        'rustc -g --edition 2021 main.rs -o import 2>/dev/null && RUST_BACKTRACE=1 ./import',
        shop.folder({ 'main.rs': RUST }),
      );
    },
  },
];
