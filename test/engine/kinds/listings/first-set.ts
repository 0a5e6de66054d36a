import { age, hash, hex, type Listing, lines, many, oneOf, pick, service, table } from './listing.ts';

const FAILING = 'Which of them are failing, and why?';
const STATE = 'Give me an overview of the current state.';
const NAMESPACES = ['prod', 'staging', 'tools', 'data'];

/** The listings with which the rule was made. */
export const firstSet: readonly Listing[] = [
  table('kubectl-pods-all', 'kubectl get pods -A', 'Which pods are failing?', {
    form: 'aligned',
    head: ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'],
    fine: [
      260,
      (i) => [oneOf(NAMESPACES, i), `${service(i)}-${hash(i, 9)}-${hash(i * 3)}`, '1/1', 'Running', '0', age(i)],
    ],
    odd: [
      ['prod', `pay-api-${hash(901, 9)}-${hash(902)}`, '0/1', 'CrashLoopBackOff', '143 (2m ago)', '12d'],
      ['prod', `mailer-${hash(903, 9)}-${hash(904)}`, '0/1', 'ImagePullBackOff', '0', '9d'],
      ['data', `etl-${hash(905, 9)}-${hash(906)}`, '0/1', 'Evicted', '0', '5d8h'],
      ['tools', `runner-${hash(907, 9)}-${hash(908)}`, '0/1', 'Pending', '0', '22h'],
    ],
  }),
  table('kubectl-nodes', 'kubectl get nodes', STATE, {
    form: 'aligned',
    head: ['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION'],
    fine: [90, (i) => [`ip-10-0-${pick(i, 255)}-${i}.ec2.internal`, 'Ready', '<none>', age(i), 'v1.29.3-eks-adc7111']],
    odd: [
      ['ip-10-0-77-203.ec2.internal', 'NotReady', '<none>', '47d', 'v1.29.3-eks-adc7111'],
      ['ip-10-0-12-204.ec2.internal', 'Ready,SchedulingDisabled', '<none>', '47d', 'v1.29.3-eks-adc7111'],
    ],
  }),
  table('systemctl-units', 'systemctl list-units --all', 'Is everything fine on this host?', {
    form: 'narrow',
    head: ['  UNIT', 'LOAD', 'ACTIVE', 'SUB', 'DESCRIPTION'],
    fine: [
      170,
      (i) => [
        `  ${service(i)}-${i}.service`,
        'loaded',
        'active',
        oneOf(['running', 'running', 'running', 'exited'], i),
        `The ${service(i * 5)} daemon`,
      ],
    ],
    odd: [['● backup-home.service', 'loaded', 'failed', 'failed', 'Nightly backup of home folders']],
    after: ['', 'LOAD   = Reflects whether the unit definition was properly loaded.', '171 loaded units listed.'],
  }),
  table('docker-compose-ps', 'docker compose ps', STATE, {
    form: 'aligned',
    head: ['NAME', 'IMAGE', 'COMMAND', 'SERVICE', 'CREATED', 'STATUS', 'PORTS'],
    fine: [
      60,
      (i) => [
        `shop-${service(i)}-${i}`,
        `registry.local/${service(i)}:2.4`,
        '"/bin/run"',
        service(i),
        '3 weeks ago',
        'Up 3 weeks (healthy)',
        `0.0.0.0:${8000 + i}->80/tcp`,
      ],
    ],
    odd: [
      [
        'shop-search-1',
        'registry.local/search:2.4',
        '"/bin/run"',
        'search',
        '3 weeks ago',
        'Up 3 weeks (unhealthy)',
        '',
      ],
      ['shop-db-1', 'postgres:15', '"docker-entry"', 'db', '3 weeks ago', 'Exited (1) 30 minutes ago', ''],
    ],
  }),
  table('argocd-apps', 'argocd app list', 'What has been deployed?', {
    form: 'aligned',
    head: ['NAME', 'CLUSTER', 'NAMESPACE', 'PROJECT', 'STATUS', 'HEALTH', 'SYNCPOLICY', 'CONDITIONS'],
    fine: [
      110,
      (i) => [
        `argocd/${service(i)}-${i}`,
        'https://kubernetes.default.svc',
        oneOf(NAMESPACES, i),
        'default',
        'Synced',
        'Healthy',
        'Auto',
        '<none>',
      ],
    ],
    odd: [
      ['argocd/ledger', 'https://kubernetes.default.svc', 'prod', 'default', 'Synced', 'Degraded', 'Auto', '<none>'],
      [
        'argocd/ingress',
        'https://kubernetes.default.svc',
        'tools',
        'default',
        'OutOfSync',
        'Healthy',
        'Auto',
        '<none>',
      ],
    ],
  }),
  table('coverage-istanbul', 'npx vitest run --coverage', 'How good is our test coverage?', {
    form: 'psql',
    head: ['File', '% Stmts', '% Branch', '% Funcs', '% Lines', 'Uncovered Line #s'],
    fine: [
      130,
      (i) => [
        `  ${service(i)}-${i}.ts`,
        ...[0, 1, 2, 3].map((k) => String(82 + pick(i * 4 + k, 19))),
        `${10 + pick(i, 90)}-${110 + pick(i, 9)}`,
      ],
    ],
    odd: [['  refund-rules.ts', '0', '0', '0', '0', '1-211']],
  }),
  table('psql-jobs', "psql -c 'select id, queue, state, attempts from jobs order by id'", STATE, {
    form: 'psql',
    head: ['id', 'queue', 'state', 'attempts'],
    fine: [200, (i) => [String(5000 + i), oneOf(['mail', 'import', 'billing'], i), 'done', '1']],
    odd: [
      ['5063', 'billing', 'dead', '25'],
      ['5119', 'import', 'claimed', '1'],
    ],
  }),
  table('csv-invoices', 'cat export/invoices.csv', 'Check the export for problems', {
    form: 'csv',
    head: ['invoice', 'customer', 'country', 'status', 'total'],
    fine: [
      220,
      (i) => [
        `R-2026-${1000 + i}`,
        `Customer ${pick(i, 900)}`,
        oneOf(['DE', 'FR', 'AT', 'NL'], i),
        'paid',
        `${pick(i, 900)}.50`,
      ],
    ],
    odd: [
      ['R-2026-1877', 'Customer 12', 'DE', 'disputed', '12.50'],
      ['R-2026-1903', 'Customer 77', 'FR', 'charged back', '80.00'],
    ],
  }),
  table('gh-runs', 'gh run list --limit 150', 'What is the state of CI on main?', {
    form: 'tabs',
    fine: [
      150,
      (i) => [
        'completed',
        'success',
        `Bump ${service(i)} to ${i}`,
        'CI',
        'main',
        'push',
        String(7_000_000_000 + i * 7919),
        `${1 + pick(i, 9)}m${pick(i, 60)}s`,
        '2026-02-11T10:00:00Z',
      ],
    ],
    odd: [
      ['completed', 'failure', 'Refactor totals', 'CI', 'main', 'push', '7001234567', '2m3s', '2026-02-11T10:00:00Z'],
      ['in_progress', '', 'Move totals', 'CI', 'main', 'push', '7001234999', '2m3s', '2026-02-11T10:00:00Z'],
      ['completed', 'cancelled', 'Try again', 'CI', 'main', 'push', '7001235001', '2m3s', '2026-02-11T10:00:00Z'],
    ],
  }),
  table('aws-ec2', 'aws ec2 describe-instances --output table', STATE, {
    form: 'markdown',
    head: ['InstanceId', 'Type', 'AZ', 'State', 'StatusCheck'],
    fine: [
      90,
      (i) => [
        `i-0${hex(i, 16)}`,
        oneOf(['m5.large', 'c6i.xlarge'], i),
        oneOf(['eu-west-1a', 'eu-west-1b'], i),
        'running',
        'ok',
      ],
    ],
    odd: [
      [`i-0${hex(911, 16)}`, 'm5.large', 'eu-west-1a', 'running', 'impaired'],
      [`i-0${hex(912, 16)}`, 'm5.large', 'eu-west-1b', 'stopped', 'not-applicable'],
    ],
  }),
  lines(
    'cloudformation-events',
    'aws cloudformation describe-stack-resources --output text',
    'Did the stack come up?',
    [
      ...many(
        120,
        (i) =>
          `STACKRESOURCES\tAWS::Lambda::Function\t${service(i)}-${i}\tUPDATE_COMPLETE\t2026-02-11T10:${10 + (i % 50)}:00Z`,
        {
          41: `»STACKRESOURCES\tAWS::RDS::DBInstance\tledger-db\tUPDATE_ROLLBACK_FAILED\t2026-02-11T10:12:00Z`,
          77: `»STACKRESOURCES\tAWS::SQS::Queue\trefunds\tDELETE_IN_PROGRESS\t2026-02-11T10:12:00Z`,
        },
      ),
    ],
  ),
  lines('git-status-merge', 'git status', 'What is left to do before I can commit?', [
    'On branch main',
    '»You have unmerged paths.',
    '  (fix conflicts and run "git commit")',
    '',
    'Changes to be committed:',
    ...many(279, (i) => `\tmodified:   src/${service(i)}/${service(i * 7)}-${i}.ts`, {}),
    '',
    '»Unmerged paths:',
    '  (use "git add <file>..." to mark resolution)',
    '»\tboth modified:   src/ledger/totals.ts',
    '',
    'Untracked files:',
    '  (use "git add <file>..." to include in what will be committed)',
    ...many(60, (i) => `\tdist/${service(i)}-${hex(i, 8)}.js`, {}),
  ]),
  lines('git-merge', 'git merge feature/totals', 'Merge the feature branch', [
    ...many(180, (i) => `Auto-merging src/${service(i)}/${service(i * 7)}-${i}.ts`, {
      93: '»CONFLICT (content): Merge conflict in src/ledger/totals.ts',
    }),
    '»Automatic merge failed; fix conflicts and then commit the result.',
  ]),
  lines('git-push', 'git push --all origin', 'Push everything', [
    'To github.com:acme/shop.git',
    ...many(
      120,
      (i) => `   ${hex(i, 7)}..${hex(i + 500, 7)}  release/${service(i)}-${i} -> release/${service(i)}-${i}`,
      {
        55: '» ! [rejected]        main -> main (non-fast-forward)',
      },
    ),
    "»error: failed to push some refs to 'github.com:acme/shop.git'",
    '»hint: Updates were rejected because a pushed branch tip is behind its remote',
  ]),
  lines('ansible-recap', 'ansible-playbook site.yml | tail -90', 'Which hosts changed?', [
    'PLAY RECAP *********************************************************************',
    ...many(
      85,
      (i) =>
        `web-${String(i).padStart(3, '0')}.example.net      : ok=42   changed=3    unreachable=0    failed=0    skipped=7`,
      {
        22: '»db-002.example.net       : ok=11   changed=0    unreachable=0    failed=1    skipped=2',
        61: '»web-212.example.net      : ok=0    changed=0    unreachable=1    failed=0    skipped=0',
      },
    ),
  ]),
  lines('sha256sum-check', 'sha256sum -c SHA256SUMS', 'Verify the mirror', [
    ...many(190, (i) => `pool/main/${service(i)}_${i}.deb: OK`, {
      17: '»pool/main/curl_8.2_amd64.deb: FAILED',
      140: '»pool/main/zlib_1.3_amd64.deb: FAILED open or read',
    }),
    '»sha256sum: WARNING: 1 computed checksum did NOT match',
  ]),
  lines('eslint-stylish', 'npx eslint .', 'Which errors must be fixed before the release?', [
    ...Array.from({ length: 45 }, (_, f) => [
      `/w/src/${service(f)}-${f}.ts`,
      ...many(
        4,
        (i) => `  ${10 + i * 3}:${5 + pick(i + f, 9)}  warning  Unexpected console statement  no-console`,
        f === 31 ? { 2: "»  17:9  error    'total' is not defined            no-undef" } : {},
      ),
      '',
    ]).flat(),
    '»✖ 181 problems (1 error, 180 warnings)',
  ]),
  table('npm-outdated', 'npm outdated', 'Which dependencies need attention?', {
    form: 'aligned',
    head: ['Package', 'Current', 'Wanted', 'Latest', 'Location', 'Depended by'],
    fine: [
      85,
      (i) => [
        `${service(i)}-${i}`,
        `1.${pick(i, 9)}.0`,
        `1.${pick(i, 9)}.4`,
        `1.${pick(i, 9)}.9`,
        `node_modules/${service(i)}-${i}`,
        'shop',
      ],
    ],
    odd: [['left-lib', 'MISSING', '2.0.1', '2.0.1', '-', 'shop']],
  }),
  table('dpkg-list', 'dpkg -l', 'Is the package database sane?', {
    form: 'aligned',
    fine: [
      240,
      (i) => [
        'ii',
        `lib${service(i)}${i}:amd64`,
        `${1 + pick(i, 9)}.${pick(i, 40)}-${pick(i, 4)}`,
        'amd64',
        `shared library for ${service(i * 3)}`,
      ],
    ],
    odd: [
      ['iF', 'grub-efi-amd64', '2.06-13', 'amd64', 'GRand Unified Bootloader, version 2'],
      ['iU', 'linux-image-6.1.0-18', '6.1.76-1', 'amd64', 'Linux 6.1 for 64-bit PCs'],
    ],
  }),
  table('kubectl-jobs', 'kubectl get jobs -n batch', STATE, {
    form: 'aligned',
    head: ['NAME', 'COMPLETIONS', 'DURATION', 'AGE'],
    fine: [100, (i) => [`nightly-${service(i)}-${28_000_000 + i}`, '1/1', `${10 + pick(i, 80)}s`, age(i)]],
    odd: [['nightly-ledger-28999111', '0/1', '22h', '22h']],
  }),
  table('vault-pvc', 'kubectl get pvc -A', STATE, {
    form: 'aligned',
    head: ['NAMESPACE', 'NAME', 'STATUS', 'VOLUME', 'CAPACITY', 'ACCESS MODES', 'STORAGECLASS', 'AGE'],
    fine: [
      80,
      (i) => [
        oneOf(NAMESPACES, i),
        `data-${service(i)}-${i}`,
        'Bound',
        `pvc-${hex(i, 8)}-${hex(i + 3, 4)}`,
        '20Gi',
        'RWO',
        'gp3',
        age(i),
      ],
    ],
    odd: [
      ['data', 'data-kafka-2', 'Lost', `pvc-${hex(921, 8)}-${hex(922, 4)}`, '20Gi', 'RWO', 'gp3', '9d'],
      ['data', 'data-zk-1', 'Pending', '', '', '', 'gp3', '9d'],
    ],
  }),
  lines(
    'http-checks',
    'for u in $(cat urls); do curl -so /dev/null -w "%{http_code} %{url}\\n" $u; done',
    'Do all pages answer?',
    [
      ...many(160, (i) => `200 https://shop.example.com/${service(i)}/${i}`, {
        33: '»503 https://shop.example.com/checkout/refund',
        101: '»404 https://shop.example.com/terms',
      }),
    ],
  ),
  lines('kafka-groups', 'kafka-consumer-groups --describe --group billing', 'How far behind are the consumers?', [
    'GROUP    TOPIC      PARTITION  CURRENT-OFFSET  LAG      CONSUMER-ID',
    ...many(
      96,
      (i) =>
        `billing  invoices   ${String(i).padEnd(9)}  ${String(881_000 + i).padEnd(14)}  ${String(pick(i, 4)).padEnd(7)}  consumer-${pick(i, 6)}`,
      {
        58: '»billing  invoices   210        640112          240944   consumer-3',
      },
    ),
  ]),
  lines('terraform-plan', 'terraform plan', 'What will change?', [
    ...many(100, (i) => `  # module.web.aws_instance.node[${i}] will be updated in-place`, {
      47: '»  # module.db.aws_db_instance.ledger must be replaced',
      81: '»  # module.db.aws_s3_bucket.exports will be destroyed',
    }),
    '»Plan: 1 to add, 100 to change, 2 to destroy.',
  ]),
  lines('aws-records', 'aws rds describe-db-instances --output yaml', 'Are the databases healthy?', [
    ...Array.from({ length: 60 }, (_, i) =>
      i === 37
        ? [
            '»- DBInstanceIdentifier: ledger',
            '»  DBInstanceStatus: storage-full',
            '  Engine: postgres',
            '  MultiAZ: true',
            '',
          ]
        : [
            `- DBInstanceIdentifier: ${service(i)}-${i}`,
            '  DBInstanceStatus: available',
            '  Engine: postgres',
            '  MultiAZ: true',
            '',
          ],
    ).flat(),
  ]),
  table('pytest-cov', 'pytest --cov', 'Run the tests', {
    form: 'aligned',
    head: ['Name', 'Stmts', 'Miss', 'Cover'],
    fine: [
      110,
      (i) => [
        `shop/${service(i)}_${i}.py`,
        String(40 + pick(i, 200)).padStart(5),
        String(pick(i, 6)).padStart(4),
        `${String(94 + pick(i, 7)).padStart(4)}%`,
      ],
    ],
    odd: [['shop/refund_rules.py', '  211', ' 190', '  10%']],
  }),
  table('zpool-disks', 'zpool status tank', STATE, {
    form: 'aligned',
    head: ['        NAME', 'STATE', 'READ', 'WRITE', 'CKSUM'],
    fine: [70, (i) => [`          wwn-0x5000c500${hex(i, 8)}`, 'ONLINE', '0', '0', '0']],
    odd: [
      ['          wwn-0x5000c500deadbe01', 'FAULTED', '12', '0', '0'],
      ['          wwn-0x5000c500deadbe02', 'ONLINE', '0', '0', '44'],
    ],
  }),
  table('certbot-list', 'cert-report --tsv', 'When do our certificates run out?', {
    form: 'tabs',
    head: ['domain', 'issuer', 'days_left', 'status'],
    fine: [90, (i) => [`${service(i)}-${i}.example.com`, 'R3', String(30 + pick(i, 60)), 'VALID']],
    odd: [['pay.example.com', 'R3', '-2', 'EXPIRED']],
  }),
  table('pm2-list', 'pm2 list', STATE, {
    form: 'box',
    head: ['id', 'name', 'mode', 'pid', 'uptime', '↺', 'status', 'cpu', 'mem'],
    fine: [
      48,
      (i) => [
        String(i),
        `${service(i)}-${i}`,
        'fork',
        String(2000 + i * 3),
        '12D',
        '0',
        'online',
        '0.3%',
        `${40 + pick(i, 30)}mb`,
      ],
    ],
    odd: [['51', 'ledger-sync', 'fork', '0', '0', '97', 'errored', '0%', '0b']],
  }),
  table('mysql-processlist', 'mysql -e "show full processlist"', 'Why is the database slow?', {
    form: 'tabs',
    head: ['Id', 'User', 'Host', 'db', 'Command', 'Time', 'State', 'Info'],
    fine: [
      120,
      (i) => [
        String(900 + i),
        'shop',
        `10.0.0.${pick(i, 200)}:${40_000 + i}`,
        'shop',
        'Sleep',
        String(pick(i, 30)),
        '',
        'NULL',
      ],
    ],
    odd: [
      [
        '1777',
        'shop',
        '10.0.0.9:41888',
        'shop',
        'Query',
        '811',
        'Waiting for table metadata lock',
        'ALTER TABLE orders ADD COLUMN note text',
      ],
    ],
  }),
  table('snapshot-list', 'backupctl list', 'Sind die Sicherungen in Ordnung?', {
    form: 'aligned',
    head: ['SICHERUNG', 'DATUM', 'GRÖSSE', 'ZUSTAND'],
    fine: [
      80,
      (i) => [
        `snap-${hex(i, 8)}`,
        `2026-02-${String(1 + (i % 28)).padStart(2, '0')}`,
        `${pick(i, 90)} GB`,
        'vollständig',
      ],
    ],
    odd: [
      ['snap-0badc0de', '2026-02-09', '0 GB', 'fehlgeschlagen'],
      ['snap-0badc0df', '2026-02-10', '3 GB', 'abgebrochen'],
    ],
  }),
  lines('kubectl-wrapped', 'kubectl get events -A --no-headers', FAILING, [
    ...many(
      130,
      (i) =>
        `prod   ${String(1 + pick(i, 59)).padEnd(2)}m   Normal    Pulled      pod/${service(i)}-${hash(i)}   Container image already present on machine`,
      {
        61: [
          '»prod   3 m   Warning   BackOff     pod/pay-api-x7k2p   Back-off restarting failed container',
          '»                                    api in pod pay-api-x7k2p_prod(1f0c)',
        ],
      },
    ),
  ]),
];
