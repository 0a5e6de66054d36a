import { describe, expect, it } from 'vitest';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { PRUNE_OPTIONS } from '../../../test/helpers/prune-options.ts';
import { until } from '../../../test/helpers/until.ts';
import { aLog, Member, members, onFile, PLACES, startTeam } from './team.ts';

const SECRET = 'payment 4711 of project web';
const UNKNOWN = 'prn_000000000000';

describe.each(PLACES)('keys on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('give access only to their own projects, in a hundred attempts', async () => {
    const place = await open();
    const stage = await startTeam(place);
    const { web, api, '*': all } = await members(stage, place, ['web', 'api', '*'] as const);
    const pruneId = await web.prunes(stage, `${SECRET}\n${aLog(1)}`);
    const called = (await web.call('prune_text', pruneText(`${SECRET}\n${aLog(2)}`))) as { prune_id: string };
    await api.prunes(stage, aLog(3), 'Why does this payment fail?');
    // what there is to be seen, by those whose it is and by who may see all
    const conversation = await until(async () => {
      const { conversations } = (await web.page('conversations')) as {
        conversations: { name: string; project: string }[];
      };
      return conversations[0];
    });
    expect(conversation.project).toBe('web');
    const { texts } = (await web.page(`conversation?name=${conversation.name}`)) as { texts: { id: string }[] };
    const segment = String(texts.at(-1)?.id);
    expect(JSON.stringify(await web.recover(pruneId))).toContain(SECRET);
    expect(JSON.stringify(await all.recover(pruneId))).toContain(SECRET);
    expect(JSON.stringify(await web.recover(called.prune_id))).toContain(SECRET);
    expect(JSON.stringify(await all.page('conversations'))).toContain('web');
    const runs = (await web.call('resources_list', { prefix: 'sc://runs/' })) as { items: { uri: string }[] };
    const run = String(runs.items.find(({ uri }) => uri.includes(conversation.name))?.uri);

    const words = [SECRET, pruneId, called.prune_id, conversation.name, segment, 'web'];
    const of = { pruneIds: [pruneId, called.prune_id], run, segment, conversation: conversation.name };
    const attempts = attemptsOn(of);
    expect(attempts.length).toBeGreaterThanOrEqual(100);
    for (const [what, attempt, sameFor] of attempts) {
      const answer = JSON.stringify(await attempt(api));
      const asked = words.filter((word) => !what.includes(word));
      expect([what, asked.filter((word) => answer.includes(word))]).toEqual([what, []]);
      // and it says of what is another's no more than of what is not there
      if (sameFor) expect([what, withoutIds(answer)]).toEqual([what, withoutIds(JSON.stringify(await sameFor(api)))]);
    }
    // they are ways that lead there: its own key has something of it by most of those that only read
    // (the fleet is not offered to keys of single projects)
    const reading = attempts.filter(
      ([what]) =>
        !/^(?:context_gc_(?:un)?pin|stash|delete) |header|^the fleet|^the page's (?:fleet|child log)/.test(what),
    );
    const shown: string[] = [];
    for (const [what, attempt] of reading) {
      const answer = JSON.stringify(await attempt(web));
      if (words.some((word) => !what.includes(word) && answer.includes(word))) shown.push(what);
    }
    expect(shown.length).toBeGreaterThan(reading.length / 2);
    // nothing of it was touched
    expect(JSON.stringify(await web.recover(pruneId))).toContain(SECRET);
    const after = (await web.page(`conversation?name=${conversation.name}`)) as { texts: { directed: unknown }[] };
    expect(after.texts.every(({ directed }) => directed === null)).toBe(true);
  });

  it.skipIf(!runs)('share an original only if both sent its text', async () => {
    const place = await open();
    const stage = await startTeam(place);
    const { web, api, ops } = await members(stage, place, ['web', 'api', 'ops'] as const);
    const log = aLog(4);
    const id = await web.prunes(stage, log);
    expect(await api.recover(id)).toMatchObject({ error: { message: 'prune_id_not_found' } });
    // a marker alone gives no part in it, a text does
    const marker = `⟦PRUNÉ: prune_id=${id} lignes 3-9 (7) raison=x⟧\n`;
    await ops.prunes(stage, `${marker}${aLog(5)}`).catch(() => ''); // whether it is cut or not
    expect(await ops.recover(id)).toMatchObject({ error: { message: 'prune_id_not_found' } });
    expect(await api.prunes(stage, log)).toBe(id);
    expect(await api.recover(id)).toMatchObject({ metadata: { prune_id: id } });
    expect(await web.recover(id)).toMatchObject({ metadata: { prune_id: id } });
    // deleting it for one leaves it with the other
    const { conversations } = (await api.page('conversations')) as { conversations: { name: string }[] };
    const { texts } = (await api.page(`conversation?name=${conversations[0]?.name}`)) as {
      texts: { id: string; role: string }[];
    };
    const ids = texts.filter(({ role }) => role === 'tool').map(({ id: segment }) => segment);
    const deletion = { project_id: 'api', segment_ids: ids, action: 'delete', confirm: true };
    expect(await api.call('context_gc_prune', deletion)).toMatchObject({ pruned_segments: ids });
    expect(await api.recover(id)).toMatchObject({ error: { message: 'prune_id_not_found' } });
    expect(await web.recover(id)).toMatchObject({ metadata: { prune_id: id } });
  });
});

describe('originals from before keys were required', () => {
  it('belong to the projects whose requests contained them', async () => {
    const place = await onFile();
    const before = await startTeam(place, { MCP_PRUNER_REQUIRE_KEY: 'false' });
    const anybody = new Member(before, 'none');
    const body = chatBody(oneResult(aLog(6)));
    const headers = { authorization: 'Bearer sk-provider', 'x-mcp-pruner-project': 'web' };
    expect((await anybody.send('/v1/chat/completions', body, headers)).status).toBe(200);
    const [, id = ''] = /prune_id=(prn_\w{12})/.exec(before.upstream.requests[0]?.body.toString() ?? '') ?? [];
    const called = (await anybody.call('prune_text', pruneText(aLog(7)))) as { prune_id: string };
    await before.close();
    const stage = await startTeam(place);
    const { web, api, default: rest } = await members(stage, place, ['web', 'api', 'default'] as const);
    expect(await web.recover(id)).toMatchObject({ metadata: { prune_id: id } });
    expect(await rest.recover(called.prune_id)).toMatchObject({ metadata: { prune_id: called.prune_id } });
    for (const [by, other] of [
      [api, id],
      [rest, id],
      [web, called.prune_id],
    ] as const) {
      expect(await by.recover(other)).toMatchObject({ error: { message: 'prune_id_not_found' } });
    }
  });
});

type Attempt = readonly [
  what: string,
  attempt: (by: Member) => Promise<unknown>,
  sameFor?: (by: Member) => Promise<unknown>,
];

/** Ways to another project's things. */
function attemptsOn(of: {
  pruneIds: readonly string[];
  run: string;
  segment: string;
  conversation: string;
}): Attempt[] {
  const { pruneIds, run, segment, conversation } = of;
  const attempts: Attempt[] = []; // what lists comes first: later one's own attempts stand there
  const ranges = [{ start_line: 1, end_line: 2 }];
  const both = (
    what: string,
    of: (id: string) => (by: Member) => Promise<unknown>,
    ids = pruneIds,
    other = UNKNOWN,
  ): void => {
    for (const id of ids) attempts.push([`${what} ${id}`, of(id), of(other)]);
  };
  both('recover_text', (id) => (by) => by.recover(id));
  both(
    'recover_text of the head',
    (id) => (by) => by.call('recover_text', { prune_id: id, ranges: [], include_line_numbers: true }),
  );
  both(
    'recover_text of nonsense',
    (id) => (by) =>
      by.call('recover_text', {
        prune_id: id,
        ranges: [{ start_line: 999_999, end_line: 999_999 }],
        include_line_numbers: false,
      }),
  );
  both(
    'recover_batch',
    (id) => (by) => by.call('recover_batch', { entries: [{ prune_id: id, ranges, include_line_numbers: false }] }),
  );
  both('snapshot', (id) => (by) => by.call('resources_read', { uri: `sc://snapshots/${id}` }));
  both('snapshot by the protocol', (id) => (by) => by.rpc('resources/read', { uri: `sc://snapshots/${id}` }));
  both('watch of a snapshot', (id) => (by) => by.call('resources_watch', { uri: `sc://snapshots/${id}` }));
  both('list of snapshots', (id) => (by) => by.call('resources_list', { prefix: `sc://snapshots/${id}` }));
  both('half an id', (id) => (by) => by.call('resources_list', { prefix: `sc://snapshots/${id.slice(0, 8)}` }));
  for (const view of ['text', 'why', 'line']) {
    both(`the page's ${view}`, (id) => (by) => by.page(`${view}?id=${id}&n=1&from=1&count=5`));
  }
  both('a run', (uri) => (by) => by.call('resources_read', { uri }), [run], 'sc://runs/0123456789abcdef/events');
  both(
    'watch of a run',
    (uri) => (by) => by.call('resources_watch', { uri }),
    [run],
    'sc://runs/0123456789abcdef/events',
  );
  both(
    'a run by the protocol',
    (uri) => (by) => by.rpc('resources/read', { uri }),
    [run],
    'sc://runs/0123456789abcdef/events',
  );
  both('runs', (uri) => (by) => by.call('resources_list', { prefix: uri }), [run], 'sc://runs/0123456789abcdef/events');
  for (const from of [0, 1, 5]) {
    attempts.push([`events from ${from}`, (by) => by.call('events_watch', { from_seq: from, limit: 500 })]);
    attempts.push([
      `events of the run from ${from}`,
      (by) => by.call('events_watch', { from_seq: from, run_id: conversation }),
    ]);
    attempts.push([`events of calls from ${from}`, (by) => by.call('events_watch', { from_seq: from, run_id: 'mcp' })]);
  }
  for (const kind of ['pruned', 'candidate', 'request', 'prune_text', 'recovered', 'key_created', 'pinned']) {
    attempts.push([`events of the kind ${kind}`, (by) => by.call('events_watch', { kinds: [kind] })]);
  }
  for (const path of [
    'requests',
    'conversations',
    'ledger?days=7',
    'prunes',
    'store',
    'fleet',
    'settings',
    'session',
  ]) {
    attempts.push([`the page's ${path}`, (by) => by.page(path)]);
  }
  attempts.push(["the page's requests before", (by) => by.page('requests?before=1000')]);
  attempts.push(["the page's prunes before", (by) => by.page('prunes?before=1000')]);
  attempts.push(["the page's conversations behind", (by) => by.page('conversations?seen=9000000000000&row=1000')]);
  both("the page's conversation", (name) => (by) => by.page(`conversation?name=${name}`), [conversation], 'nothing');
  both(
    "the page's conversation of web",
    (name) => (by) => by.page(`conversation?name=${name}&project=web`),
    [conversation],
    'nothing',
  );
  both("the page's turns", (name) => (by) => by.page(`turns?name=${name}`), [conversation], 'nothing');
  both("the page's child log", (id) => (by) => by.page(`child-log?id=${id}`), [conversation], 'nothing');
  attempts.push(["the page's ledger of web", (by) => by.page('ledger?days=30&project=web')]);
  for (const project of ['web', 'web\nbound', 'WEB', ' web', '*', 'default']) {
    attempts.push([
      `segments of ${JSON.stringify(project)} (web)`,
      (by) => by.call('context_gc_analyze', { project_id: project }),
    ]);
    for (const tool of ['context_gc_pin', 'context_gc_unpin']) {
      const of = (id: string) => (by: Member) => by.call(tool, { project_id: project, segment_ids: [id] });
      attempts.push([`${tool} in ${project} (web) ${segment}`, of(segment), of('seg_000000000000')]);
    }
    for (const action of ['stash', 'delete']) {
      const of = (id: string) => (by: Member) =>
        by.call('context_gc_prune', { project_id: project, segment_ids: [id], action, confirm: true });
      attempts.push([`${action} in ${project} (web) ${segment}`, of(segment), of('seg_000000000000')]);
    }
  }
  for (const header of ['web', 'api,web', 'web\u0000', '*', 'default']) {
    if (header.includes('\u0000')) continue;
    const headers = { 'x-mcp-pruner-project': header };
    attempts.push([
      `${header} in the header (web)`,
      async (by) => {
        const call = { name: 'events_watch', arguments: {} };
        const { status, body } = await by.send(
          '/rpc',
          { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
          headers,
        );
        expect([header, status]).toEqual([header, 403]);
        return body.toString();
      },
    ]);
  }
  for (const prefix of [
    'sc://',
    'sc://runs/',
    'sc://snapshots/',
    'sc://children/',
    'sc://graphs/',
    'sc://blackboard/',
  ]) {
    attempts.push([`list of ${prefix}`, (by) => by.call('resources_list', { prefix, limit: 500 })]);
  }
  attempts.push(['list by the protocol', (by) => by.rpc('resources/list', {})]);
  for (const tool of ['health', 'mcp_info', 'mcp_capabilities']) attempts.push([tool, (by) => by.call(tool, {})]);
  for (const tool of ['bb_query', 'child_list', 'stig_snapshot', 'plan_status', 'graph_mutate']) {
    attempts.push([`the fleet's ${tool}`, (by) => by.call(tool, {})]);
  }
  attempts.push(['a subscription', (by) => by.rpc('resources/subscribe', { uri: run })]);
  attempts.push(['metrics', async (by) => (await by.send('/metrics')).body.toString()]);
  return [...attempts.filter(([, , same]) => !same), ...attempts.filter(([, , same]) => same)];
}

function withoutIds(answer: string): string {
  return answer.replaceAll(/prn_\w{12}|seg_\w{12}|sc:\/\/[^"\s]*|[0-9a-f]{16,32}/g, '…').replaceAll(/\d{13}/g, '…');
}

function pruneText(text: string): object {
  const options = { ...PRUNE_OPTIONS, min_keep_lines: 3, timeout_ms: 5_000 };
  return { text, goal_hint: 'the failing payment', source_type: 'logs', options };
}
