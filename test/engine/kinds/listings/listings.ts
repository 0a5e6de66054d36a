import { age, hash, hex, type Listing, lines, many, oneOf, pick, service, table } from './listing.ts';

const STATE = 'What does it look like at the moment?';
const REGIONS = ['europe-west1', 'us-east4', 'asia-south1'];

/** The listings that were held back until the rule was made. */
export const listings: readonly Listing[] = [
  table('helm-releases', 'helm list -A', STATE, {
    form: 'tabs',
    head: ['NAME', 'NAMESPACE', 'REVISION', 'UPDATED', 'STATUS', 'CHART', 'APP VERSION'],
    fine: [
      70,
      (i) => [
        `${service(i)}-${i}`,
        oneOf(['prod', 'tools'], i),
        String(1 + pick(i, 30)),
        `2026-02-0${1 + pick(i, 9)} 10:00:00 +0000 UTC`,
        'deployed',
        `${service(i)}-4.${pick(i, 9)}.1`,
        `1.${pick(i, 30)}`,
      ],
    ],
    odd: [
      ['ledger', 'prod', '41', '2026-02-10 10:00:00 +0000 UTC', 'failed', 'ledger-4.2.1', '1.9'],
      ['search', 'prod', '7', '2026-02-10 10:00:00 +0000 UTC', 'pending-upgrade', 'search-4.2.1', '1.9'],
    ],
  }),
  table('gcloud-instances', 'gcloud compute instances list', STATE, {
    form: 'aligned',
    head: ['NAME', 'ZONE', 'MACHINE_TYPE', 'PREEMPTIBLE', 'INTERNAL_IP', 'EXTERNAL_IP', 'STATUS'],
    fine: [
      120,
      (i) => [
        `vm-${service(i)}-${i}`,
        `${oneOf(REGIONS, i)}-b`,
        'e2-standard-4',
        '',
        `10.132.${pick(i, 200)}.${i}`,
        `34.90.${pick(i, 200)}.${i}`,
        'RUNNING',
      ],
    ],
    odd: [
      ['vm-ledger-0', 'us-east4-b', 'e2-standard-4', '', '10.132.0.3', '', 'TERMINATED'],
      ['vm-ledger-1', 'us-east4-b', 'e2-standard-4', '', '10.132.0.4', '', 'REPAIRING'],
    ],
  }),
  table('az-vm-list', 'az vm list -d -o table', STATE, {
    form: 'aligned',
    head: ['Name', 'ResourceGroup', 'PowerState', 'PublicIps', 'Location'],
    fine: [75, (i) => [`vm${i}-${service(i)}`, 'rg-shop', 'VM running', `20.50.${pick(i, 250)}.${i}`, 'westeurope']],
    odd: [['vm-batch', 'rg-shop', 'VM deallocated', '', 'westeurope']],
  }),
  table('docker-ps-all', 'docker ps -a', 'Why is the shop down?', {
    form: 'aligned',
    head: ['CONTAINER ID', 'IMAGE', 'COMMAND', 'CREATED', 'STATUS', 'PORTS', 'NAMES'],
    fine: [
      70,
      (i) => [
        hex(i),
        `registry.local/${service(i)}:1.${pick(i, 9)}`,
        '"/entry"',
        `${2 + pick(i, 8)} weeks ago`,
        `Up ${2 + pick(i, 8)} weeks`,
        '80/tcp',
        `${service(i)}-${i}`,
      ],
    ],
    odd: [
      [hex(931), 'registry.local/api:1.4', '"/entry"', '3 hours ago', 'Exited (137) 12 minutes ago', '', 'api-1'],
      [hex(932), 'registry.local/api:1.4', '"/entry"', '3 hours ago', 'Restarting (1) 4 seconds ago', '', 'api-2'],
    ],
  }),
  table('ps-states', 'ps -eo pid,stat,etime,comm', 'Is anything hanging?', {
    form: 'aligned',
    head: ['    PID', 'STAT', '    ELAPSED', 'COMMAND'],
    fine: [
      230,
      (i) => [
        String(1000 + i * 7).padStart(7),
        oneOf(['S', 'Ss', 'Sl', 'S'], i),
        `${pick(i, 20)}-0${pick(i, 9)}:11:0${pick(i, 9)}`.padStart(11),
        service(i),
      ],
    ],
    odd: [
      ['   3411', 'D', '   00:41:12', 'rsync'],
      ['   7719', 'Z', '   02:11:09', 'convert'],
    ],
  }),
  table('df-use', 'df -h', 'Can we deploy?', {
    form: 'aligned',
    head: ['Filesystem', 'Size', 'Used', 'Avail', 'Use%', 'Mounted on'],
    fine: [
      75,
      (i) => [
        `/dev/mapper/vg-${service(i)}${i}`,
        ' 100G',
        `${30 + pick(i, 20)}G`.padStart(5),
        `${50 + pick(i, 20)}G`.padStart(5),
        `${30 + pick(i, 20)}%`.padStart(4),
        `/srv/${service(i)}-${i}`,
      ],
    ],
    odd: [['/dev/mapper/vg-db', ' 100G', ' 100G', '    0', '100%', '/var/lib/postgresql']],
  }),
  table('ecs-services', 'aws ecs describe-services --output table', STATE, {
    form: 'markdown',
    head: ['serviceName', 'status', 'desired', 'running', 'pending', 'rollout'],
    fine: [85, (i) => [`${service(i)}-${i}`, 'ACTIVE', '2', '2', '0', 'COMPLETED']],
    odd: [
      ['ledger', 'ACTIVE', '2', '0', '2', 'FAILED'],
      ['search', 'DRAINING', '0', '1', '0', 'COMPLETED'],
    ],
  }),
  table('nomad-status', 'nomad job status', STATE, {
    form: 'aligned',
    head: ['ID', 'Type', 'Priority', 'Status', 'Submit Date'],
    fine: [
      95,
      (i) => [
        `${service(i)}-${i}`,
        'service',
        '50',
        'running',
        `2026-01-${String(1 + (i % 28)).padStart(2, '0')}T09:00:00Z`,
      ],
    ],
    odd: [['importer', 'batch', '50', 'dead', '2026-02-09T09:00:00Z']],
  }),
  table('consul-members', 'consul members', STATE, {
    form: 'aligned',
    head: ['Node', 'Address', 'Status', 'Type', 'Build', 'Protocol', 'DC'],
    fine: [90, (i) => [`node-${i}`, `10.2.${pick(i, 200)}.${i}:8301`, 'alive', 'client', '1.17.2', '2', 'fra']],
    odd: [
      ['node-91', '10.2.0.9:8301', 'left', 'client', '1.17.2', '2', 'fra'],
      ['node-92', '10.2.0.8:8301', 'failed', 'client', '1.15.0', '2', 'fra'],
    ],
  }),
  table('kubectl-deploy', 'kubectl get deploy -A', STATE, {
    form: 'aligned',
    head: ['NAMESPACE', 'NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE'],
    fine: [130, (i) => [oneOf(['prod', 'staging'], i), `${service(i)}-${i}`, '3/3', '3', '3', age(i)]],
    odd: [['prod', 'refunds', '1/3', '3', '1', '9d']],
  }),
  table('flux-kustomizations', 'flux get kustomizations -A', STATE, {
    form: 'tabs',
    head: ['NAMESPACE', 'NAME', 'REVISION', 'SUSPENDED', 'READY', 'MESSAGE'],
    fine: [
      60,
      (i) => [
        'flux-system',
        `${service(i)}-${i}`,
        `main@sha1:${hex(i, 8)}`,
        'False',
        'True',
        `Applied revision: main@sha1:${hex(i, 8)}`,
      ],
    ],
    odd: [
      [
        'flux-system',
        'ledger',
        `main@sha1:${hex(941, 8)}`,
        'False',
        'False',
        'Deployment/prod/ledger dry-run failed: admission webhook denied the request',
      ],
      [
        'flux-system',
        'search',
        `main@sha1:${hex(942, 8)}`,
        'True',
        'True',
        `Applied revision: main@sha1:${hex(942, 8)}`,
      ],
    ],
  }),
  table(
    'psql-replication',
    "psql -c 'select application_name, state, sync_state, lag_mb from repl'",
    'Are all replicas in step?',
    {
      form: 'psql',
      head: ['application_name', 'state', 'sync_state', 'lag_mb'],
      fine: [90, (i) => [`replica-${i}`, 'streaming', 'async', String(pick(i, 5))]],
      odd: [
        ['replica-203', 'catchup', 'async', '3'],
        ['replica-204', 'streaming', 'async', '90211'],
      ],
    },
  ),
  table('sqlite-migrations', "sqlite3 -csv db.sqlite 'select * from migrations'", 'Which migrations ran?', {
    form: 'csv',
    fine: [
      160,
      (i) => [
        String(i),
        `2025${String(1000 + i)}_add_${service(i).replace('-', '_')}`,
        'applied',
        `2026-02-0${1 + pick(i, 9)}`,
      ],
    ],
    odd: [['161', '20251999_drop_orders', 'reverted', '2026-02-04']],
  }),
  table('mongo-status', 'mongosh --eval "rsStatus()" | column -t', STATE, {
    form: 'aligned',
    head: ['member', 'stateStr', 'health', 'optimeLagS'],
    fine: [80, (i) => [`mongo-${i}.example.net:27017`, 'SECONDARY', '1', String(pick(i, 3))]],
    odd: [
      ['mongo-82.example.net:27017', 'PRIMARY', '1', '0'],
      ['mongo-83.example.net:27017', '(not reachable/healthy)', '0', '0'],
    ],
  }),
  table('rabbit-queues', 'rabbitmqctl list_queues name state messages consumers', STATE, {
    form: 'tabs',
    head: ['name', 'state', 'messages', 'consumers'],
    fine: [120, (i) => [`${service(i)}.${i}`, 'running', String(pick(i, 6)), '2']],
    odd: [
      ['refunds.dlq', 'flow', '4', '2'],
      ['ledger.in', 'running', '3', '0'],
    ],
  }),
  lines('es-indices', 'curl -s localhost:9200/_cat/indices', STATE, [
    ...many(
      110,
      (i) =>
        `green  open  logs-2026.01.${String(1 + (i % 31)).padStart(2, '0')}-${hex(i, 4)}  ${hash(i, 22)}  1  1  ${String(90_000 + i * 37)}  0  ${10 + pick(i, 80)}mb`,
      {
        39: `»red    open  orders-2026.02.01-aa01  ${hash(951, 22)}  1  1                   `,
        88: `»yellow open  orders-2026.02.02-aa02  ${hash(952, 22)}  1  1  90112  0  11mb`,
      },
    ),
  ]),
  lines('supervisor', 'supervisorctl status', STATE, [
    ...many(70, (i) => `${`${service(i)}-${i}`.padEnd(33)}RUNNING   pid ${2000 + i}, uptime 12 days, 3:0${i % 10}:11`, {
      25: `»${'ledger-sync'.padEnd(33)}FATAL     Exited too quickly (process log may have details)`,
      51: `»${'mail-out'.padEnd(33)}BACKOFF   Exited too quickly (process log may have details)`,
    }),
  ]),
  lines('composer-audit', 'pip-audit --format columns', 'Are we affected by anything?', [
    'Name                 Version   Status',
    '-------------------- --------- ------------------------------',
    ...many(
      110,
      (i) => `${`${service(i)}${i}`.padEnd(20)} ${`${1 + pick(i, 4)}.${pick(i, 9)}.${pick(i, 9)}`.padEnd(9)} ok`,
      {
        49: `»${'jinja-lite'.padEnd(20)} ${'2.1.0'.padEnd(9)} GHSA-h5c8-rqwp-cp95 fixed in 2.1.3`,
      },
    ),
  ]),
  lines('npm-ls', 'npm ls --depth=1', 'Is the tree consistent?', [
    'shop@1.0.0 /w/shop',
    ...many(140, (i) => `${i % 3 === 0 ? '├─┬' : '│ ├──'} ${service(i)}-${i}@${1 + pick(i, 9)}.${pick(i, 9)}.0`, {
      60: '»│ ├── react@17.0.2 invalid: "^18.0.0" from node_modules/shop-ui',
      111: '»├── UNMET DEPENDENCY left-lib@^2.0.0',
    }),
  ]),
  lines('git-rebase', 'git rebase main', 'Rebase my branch', [
    ...many(150, (i) => `Auto-merging packages/${service(i)}/${service(i * 5)}-${i}.ts`, {
      71: '»CONFLICT (modify/delete): packages/ledger/old.ts deleted in HEAD and modified in 1a2b3c4 (Totals).',
    }),
    '»error: could not apply 1a2b3c4... Totals',
    '»hint: Resolve all conflicts manually, mark them as resolved with',
    '»hint: "git add/rm <conflicted_files>", then run "git rebase --continue".',
    '»Could not apply 1a2b3c4... Totals',
  ]),
  lines('git-status-short', 'git status --short', 'Which files are changed?', [
    ...many(260, (i) => ` M src/${service(i)}/${service(i * 11)}-${i}.ts`, {
      94: '»UU src/ledger/totals.ts',
      201: '» D src/ledger/old.ts',
    }),
  ]),
  lines('git-branches', 'git branch -vv', 'Which branches need work?', [
    ...many(
      100,
      (i) =>
        `  ${`topic/${service(i)}-${i}`.padEnd(30)} ${hex(i, 7)} [origin/topic/${service(i)}-${i}] Improve ${service(i * 3)}`,
      {
        44: `»  ${'topic/refund-limits'.padEnd(30)} ${hex(961, 7)} [origin/topic/refund-limits: gone] Limit refunds`,
        71: `»  ${'topic/ledger-totals'.padEnd(30)} ${hex(962, 7)} [origin/topic/ledger-totals: ahead 3, behind 41] Totals`,
      },
    ),
  ]),
  lines('golangci', 'golangci-lint run --out-format tab', 'What must be fixed first?', [
    ...many(
      120,
      (i) =>
        `pkg/${service(i)}/${service(i * 3)}.go:${10 + i}:2\trevive\twarning\texported func ${service(i)} should have comment`,
      {
        60: '»pkg/ledger/totals.go:44:7\tstaticcheck\terror\tSA5011: possible nil pointer dereference',
      },
    ),
  ]),
  lines('gitlab-jobs', 'glab ci status', 'How is the pipeline doing?', [
    ...many(85, (i) => `(success) • 0${1 + pick(i, 8)}m ${10 + pick(i, 49)}s\ttest\t\tunit ${service(i)} ${i}`, {
      37: '»(failed) • 02m 11s\ttest\t\tunit ledger 99',
      71: '»(manual) • \tdeploy\t\tproduction',
    }),
  ]),
  table('buildkite-steps', 'bk build view --steps', 'How is the build doing?', {
    form: 'box',
    head: ['step', 'agent', 'duration', 'exit', 'result'],
    fine: [55, (i) => [`unit ${service(i)} ${i}`, `agent-${pick(i, 9)}`, `${10 + pick(i, 80)}s`, '0', 'passed']],
    odd: [
      ['unit ledger', 'agent-4', '911s', '255', 'passed'],
      ['e2e checkout', 'agent-2', '80s', '0', 'soft-failed'],
    ],
  }),
  lines(
    'ping-sweep',
    'for h in $(cat hosts); do printf "%s " $h; ping -c1 -W1 $h >/dev/null && echo up || echo down; done',
    'Who is missing?',
    [
      ...many(180, (i) => `host-${String(i).padStart(3, '0')}.example.net up`, {
        70: '»host-777.example.net down',
      }),
    ],
  ),
  lines('lvs', 'lvs -o lv_name,vg_name,lv_attr,lv_size,data_percent', 'Is any volume full?', [
    '  LV                     VG    Attr        LSize   Data%',
    ...many(
      90,
      (i) => `  ${`vol-${service(i)}-${i}`.padEnd(22)} data  Vwi-aotz--  40.00g  ${(20 + pick(i, 20)).toFixed(2)}`,
      {
        33: '»  vol-ledger             data  Vwi-aotz--  40.00g  99.87',
      },
    ),
  ]),
  lines('describe-blocks', 'kubectl describe pods | grep -E "^Name|^Status|^Reason|^$"', 'Which pods need help?', [
    ...Array.from({ length: 90 }, (_, i) =>
      i === 52
        ? ['»Name:             ledger-7d9f', '»Status:           Failed', '»Reason:           OOMKilled', '']
        : [`Name:             ${service(i)}-${hash(i)}`, 'Status:           Running', ''],
    ).flat(),
  ]),
  lines('json-volumes', 'openstack volume list -f json', STATE, [
    '[',
    ...Array.from({ length: 70 }, (_, i) =>
      i === 44
        ? ['  {', '    "ID": "vol-ledger",', '»    "Status": "error_deleting",', '    "Size": 40', '  },']
        : ['  {', `    "ID": "vol-${service(i)}-${i}",`, '    "Status": "in-use",', '    "Size": 40', '  },'],
    ).flat(),
    '  {}',
    ']',
  ]),
  table('etat-services', 'etat-services', 'Tout va bien ?', {
    form: 'aligned',
    head: ['SERVICE', 'HÔTE', 'ÉTAT', 'DEPUIS'],
    fine: [90, (i) => [`${service(i)}-${i}`, `hote-${pick(i, 40)}`, 'actif', `${1 + pick(i, 40)} jours`]],
    odd: [['grand-livre', 'hote-7', 'échec', '2 heures']],
  }),
  table('flaky-report', 'node scripts/flaky.mjs --markdown', 'Which tests are unreliable?', {
    form: 'markdown',
    head: ['test', 'runs', 'failures', 'median'],
    fine: [110, (i) => [`${service(i)} works ${i}`, '200', '0', `${10 + pick(i, 80)} ms`]],
    odd: [['ledger adds up in order', '200', '37', '44 ms']],
  }),
  lines('wrapped-table', 'mdcat report.md', 'Any trouble with the suppliers?', [
    '| supplier          | state    | note                       |',
    '|-------------------|----------|----------------------------|',
    ...many(
      70,
      (i) => `| ${`supplier ${i}`.padEnd(17)} | ${'active'.padEnd(8)} | ${`delivers ${service(i)}`.padEnd(26)} |`,
      {
        30: [
          '»| supplier 909      | insolv.  | the court has appointed an |',
          '»|                   |          | administrator on 3 March   |',
        ],
      },
    ),
  ]),
];
