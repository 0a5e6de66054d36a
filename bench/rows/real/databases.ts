import type { RealListing } from './case.ts';

interface Table {
  readonly usual: string;
  readonly odd: string;
  readonly rows: number;
}

/** Fills a table of sqlite3 in which one row has another state. */
function filled({ usual, odd, rows }: Table): string {
  return `{ echo "create table t(id integer, name text, zone text, state text, amount integer); begin;"
for i in $(upto ${rows}); do s='${usual}'; [ $i = $((${rows} / 3)) ] && s='${odd}'; echo "insert into t values($i, '\${N[$i]}', 'eu-$((i % 3))', '$s', $((i * 37 % 91)));"; done; echo "commit;"; } | sqlite3 t.db`;
}

function inMode(mode: string, held: boolean, goal: string, table: Table): RealListing {
  return {
    name: `sqlite-${mode}`,
    held,
    needs: ['sqlite3'],
    prepare: filled(table),
    command: `sqlite3 -${mode} -header t.db 'select * from t'`,
    goal,
    needed: new RegExp(table.odd),
    count: 1,
  };
}

const PSQL = ['psql'];

/** Listings of databases. Those of `psql` need a server, whose socket is in `PGHOST`. */
export const databaseListings: readonly RealListing[] = [
  inMode('column', false, 'Are the jobs done?', { usual: 'done', odd: 'stuck', rows: 160 }),
  inMode('box', true, 'Which migrations ran?', { usual: 'applied', odd: 'half-applied', rows: 120 }),
  inMode('table', false, 'How are the payments?', { usual: 'settled', odd: 'chargeback', rows: 120 }),
  inMode('markdown', true, 'Can we trust the backups?', { usual: 'verified', odd: 'unreadable', rows: 120 }),
  inMode('csv', false, 'How are the hosts?', { usual: 'healthy', odd: 'quarantined', rows: 180 }),
  inMode('tabs', true, 'Were the invoices sent?', { usual: 'sent', odd: 'bounced', rows: 180 }),
  inMode('line', false, 'How are the accounts?', { usual: 'active', odd: 'suspended', rows: 80 }),
  inMode('list', true, 'Is the replication all right?', { usual: 'streaming', odd: 'catchup', rows: 180 }),
  inMode('json', true, 'How are the orders?', { usual: 'shipped', odd: 'returned', rows: 120 }),
  {
    name: 'psql-settings',
    held: false,
    needs: PSQL,
    command: "psql -c 'select name, setting, context, source from pg_settings order by name'",
    run: "psql -X -P pager=off -c 'set work_mem = 65536' -c 'select name, left(setting, 30) setting, context, source from pg_settings order by name'",
    goal: 'What was changed for this session?',
    needed: /\| session\s*$/,
    count: 1,
  },
  {
    name: 'psql-expanded',
    held: true,
    needs: PSQL,
    prepare: `psql -X -c "create table jobs as select i id, 'job-' || i as name, case i when 23 then 'dead-letter' else 'done' end state, i % 3 as queue from generate_series(1, 70) i"`,
    command: "psql -x -c 'select * from jobs'",
    run: "psql -X -P pager=off -x -c 'select * from jobs order by id'",
    goal: 'Are the jobs done?',
    needed: /dead-letter/,
    count: 1,
  },
  {
    name: 'psql-relations',
    held: true,
    needs: PSQL,
    prepare: `{ for i in $(upto 90); do n=\${N[$i]}; echo "create table \${n//-/_}(i int);"; done; echo 'create unlogged table zz_scratch(i int); create view bb_totals as select 1 i;'; } | psql -X -q`,
    command: "psql -c '\\d+'",
    run: "psql -X -P pager=off -c '\\d+'",
    goal: 'Which table would be lost in a crash?',
    needed: /unlogged|bb_totals/,
    count: 2,
  },
];
