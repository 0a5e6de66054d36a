// A bare node:http + undici pass-through: what comes is written on as it comes, both ways.
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { fieldsOf, passOn } from './pass-on.mjs';

const SET_ANEW = new Set(['host', 'connection', 'transfer-encoding']);
const [, , port, upstream] = process.argv;
const pool = new Pool(upstream, { pipelining: 1 });
createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  const body = req.method === 'POST' ? req : null;
  pool.dispatch({ method: req.method, path: req.url, headers: fieldsOf(req, SET_ANEW), body }, passOn(res));
  req.on('error', () => {});
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
