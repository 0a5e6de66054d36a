// A bare node:http + undici pass-through that collects the body, as whatever edits it must; with a third argument it
// compresses it by llmtrim.
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { fieldsOf, passOn } from './pass-on.mjs';

const SET_ANEW = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);
const [, , port, upstream, peers] = process.argv;
const llmtrim = peers ? await import(peers) : null;
const pool = new Pool(upstream, { pipelining: 1 });
createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    let body = Buffer.concat(chunks);
    if (llmtrim && body.length > 0)
      body = Buffer.from(llmtrim.compress(body.toString('utf8'), 'openai', 'agent').request_json);
    pool.dispatch({ method: req.method, path: req.url, headers: fieldsOf(req, SET_ANEW), body }, passOn(res));
  });
  req.on('error', () => {});
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
