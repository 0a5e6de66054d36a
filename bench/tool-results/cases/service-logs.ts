import type { ToolResultCase } from '../case.ts';

const kind = 'service log';

/** A service that logs with pino: 300 requests, of which one meets a port where nobody listens. */
const PINO_SERVICE = `import net from 'node:net';
import pino from 'pino';
const log = pino({ base: { service: 'orders' }, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ sync: true }));
log.info({ port: 8080 }, 'listening');
const connect = (port) => new Promise((resolve, reject) => net.connect(port, '127.0.0.1').once('connect', resolve).once('error', reject));
for (let i = 0; i < 300; i++) {
  const child = log.child({ reqId: 'req-' + i });
  child.info({ method: 'GET', url: '/v1/items/' + (i % 17) }, 'request received');
  if (i === 211) {
    try { await connect(1); } catch (err) { child.error({ err, attempt: 3 }, 'stock service unreachable, order not reserved'); }
  }
  if (i % 50 === 7) child.warn({ queue: i }, 'queue length above soft limit');
  child.info({ method: 'GET', url: '/v1/items/' + (i % 17), statusCode: i === 211 ? 502 : 200, responseTime: 3 + (i % 9) }, 'request completed');
}
`;

const PYTHON_SERVICE = `import logging, sqlite3, sys
logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format='%(asctime)s %(levelname)-7s [%(threadName)s] %(name)s: %(message)s')
log = logging.getLogger('sync.worker'); db = logging.getLogger('sync.db')
log.info('starting worker pool size=4 config=/etc/sync/worker.toml')
connection = sqlite3.connect(':memory:')
connection.execute('create table item (id integer primary key, sku text unique)')
for i in range(260):
    db.debug('begin transaction %d', i)
    log.info('item %d fetched from upstream in %d ms', i, 20 + i % 13)
    try:
        connection.execute('insert into item (sku) values (?)', ('sku-%d' % (i if i != 193 else 12),))
        db.debug('commit transaction %d', i)
    except sqlite3.IntegrityError:
        log.exception('item %d could not be written, batch 19 is rolled back', i)
    if i == 140:
        log.warning('clock went backwards by 4 s, lease renewed early')
log.info('worker pool stopped processed=260')
`;

const ACCESS_LOG = `import http.server, sys, threading, urllib.error, urllib.request
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith('/export'): return self.send_error(500, 'export failed')
        if self.path.startswith('/old'): return self.send_error(404)
        self.send_response(200); self.end_headers(); self.wfile.write(b'ok')
    def log_message(self, format, *args):
        print('127.0.0.1 - - [%s] %s' % (self.log_date_time_string(), format % args), file=sys.stdout)
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for i in range(400):
    path = '/assets/app.%d.js' % (i % 23) if i % 4 else '/api/items?page=%d' % i
    if i == 287: path = '/export?format=xlsx&rows=250000'
    if i == 90: path = '/old/feed.xml'
    try: urllib.request.urlopen('http://127.0.0.1:%d%s' % (server.server_port, path)).read()
    except urllib.error.HTTPError: pass
server.shutdown()
`;

const SYSLOG = `for i in $(seq 1 120); do
  echo "<30>pam_unix(cron:session): session opened for user root(uid=0) by (uid=$i)"
  echo "<30>(root) CMD (   cd / && run-parts --report /etc/cron.hourly)"
  echo "<30>pam_unix(cron:session): session closed for user root"
done > cron.txt
sed -i '250a <27>error: maximum authentication attempts exceeded for invalid user admin from 203.0.113.7 port 52114 ssh2 [preauth]' cron.txt
sed -i '130a <26>EXT4-fs error (device sdb1): ext4_lookup:1855: inode #131073: comm backup: deleted inode referenced: 262402' cron.txt
logger --no-act --stderr --prio-prefix --rfc3164 --id=4242 -t host --server 127.0.0.1 --port 5140 -d -f cron.txt 2>&1 >/dev/null | sed 's/^<[0-9]*>//'`;

const GC_OOM = `import java.util.*;
public class Fill {
  public static void main(String[] a) {
    List<byte[]> kept = new ArrayList<>();
    for (int i = 0; ; i++) { byte[] b = new byte[64 * 1024]; if (i % 9 == 0) kept.add(b); }
  }
}
`;

export const serviceLogs: readonly ToolResultCase[] = [
  {
    name: 'json-lines-pino',
    kind,
    goal: 'Customers saw a 502 on an order. What happened to that request in the service log?',
    hints: { origin: 'command', command: 'kubectl logs deploy/orders --tail=2000' },
    fragments: [
      'stock service unreachable, order not reserved',
      'connect ECONNREFUSED 127.0.0.1:1',
      '"statusCode":502',
    ],
    make: (shop) => {
      const folder = shop.folder({ 'service.mjs': PINO_SERVICE });
      shop.sh('ln -s "$MODULES" node_modules', folder);
      return shop.sh('node service.mjs', folder);
    },
  },
  {
    name: 'plain-python-service',
    kind,
    goal: 'An item is missing after the nightly sync. Find in the worker log why it could not be written.',
    hints: { origin: 'command', command: 'cat /var/log/sync/worker.log' },
    fragments: [
      'ERROR   [MainThread] sync.worker: item 193 could not be written, batch 19 is rolled back',
      'sqlite3.IntegrityError: UNIQUE constraint failed: item.sku',
    ],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('python3 service.py', shop.folder({ 'service.py': PYTHON_SERVICE }));
    },
  },
  {
    name: 'access-log',
    kind,
    goal: 'Which request did the web server answer with status 500?',
    hints: { origin: 'command', command: 'cat access.log' },
    fragments: ['"GET /export?format=xlsx&rows=250000 HTTP/1.1" 500'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('python3 access.py', shop.folder({ 'access.py': ACCESS_LOG }));
    },
  },
  {
    name: 'syslog',
    kind,
    goal: 'The backup host behaves oddly since this morning: is a disk failing? Look at the syslog.',
    hints: { origin: 'command', command: 'cat /var/log/syslog' },
    fragments: ['EXT4-fs error (device sdb1): ext4_lookup:1855'],
    make: (shop) => {
      shop.need('logger');
      return shop.sh(SYSLOG, shop.folder());
    },
  },
  {
    name: 'jvm-gc-log',
    kind,
    goal: "Le service Java s'arrête avec une erreur de mémoire. Que dit le journal du ramasse-miettes à la fin ?",
    hints: { origin: 'command', command: 'java -Xmx24m -Xlog:gc Fill' },
    fragments: ['java.lang.OutOfMemoryError: Java heap space', 'Pause Full'],
    make: (shop) => {
      shop.need('javac');
      return shop.sh(
        'javac Fill.java && java -Xmx24m -XX:+UseSerialGC -Xlog:gc Fill',
        shop.folder({ 'Fill.java': GC_OOM }),
      );
    },
  },
];
