import { listen, readAll } from '../lib/http.mjs';
import { messagesDialect } from './messages.mjs';
import { responsesDialect } from './responses.mjs';

/**
 * A scripted model that speaks the dialects which the proxy passes through whole: responses and messages.
 *
 * @param {(turn: Turn) => { text: string, calls: { name: string, namespace?: string, args: object }[] }} play - what it
 *   says next, which follows from the conversation alone
 * @returns {Promise<{ url: string, seen: { path: string, body: object }[], close: () => Promise<void> }>}
 *
 * @typedef {{ tools: { name: string, namespace?: string }[], results: string[], isTask: boolean }} Turn - `results` are
 *   what the client's tools gave, in order; `isTask` is false for titles, summaries and the like
 */
export async function startModel(play) {
  const seen = [];
  const server = await listen(async (req, res) => {
    const text = (await readAll(req)).toString('utf8');
    const [path = ''] = (req.url ?? '').split('?');
    const reply = (status, body) => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify(body));
    };
    if (path.endsWith('/count_tokens')) return reply(200, { input_tokens: 1000 });
    const dialect = path.endsWith('/responses')
      ? responsesDialect
      : path.endsWith('/messages')
        ? messagesDialect
        : null;
    if (dialect === null || req.method !== 'POST')
      return reply(404, { error: { message: 'not here', type: 'not_found' } });
    const body = JSON.parse(text);
    seen.push({ path, body });
    const turn = dialect.read(body);
    const said = play(turn);
    const id = `${seen.length}`;
    if (body.stream !== true) return reply(200, dialect.plain(said, id, body.model));
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const event of dialect.stream(said, id, body.model)) {
      res.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    res.end();
  });
  return { url: server.url, seen, close: server.close };
}
