// A bare node:http + undici pass-through: what comes is written on as it comes, both ways.
import { createServer } from 'node:http';
import { Pool } from 'undici';

const [, , port, upstream] = process.argv;
const pool = new Pool(upstream, { pipelining: 1 });
createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  const headers = [];
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i].toLowerCase();
    if (name !== 'host' && name !== 'connection' && name !== 'transfer-encoding')
      headers.push(req.rawHeaders[i], req.rawHeaders[i + 1]);
  }
  let controller;
  res.on('drain', () => controller.resume());
  res.on('close', () => {
    if (!res.writableFinished) controller?.abort(new Error('gone'));
  });
  req.on('error', () => {});
  pool.dispatch(
    { method: req.method, path: req.url, headers, body: req.method === 'POST' ? req : null },
    {
      onRequestStart(c) {
        controller = c;
      },
      onResponseStart(_c, status, fields) {
        delete fields.connection;
        delete fields['keep-alive'];
        delete fields['transfer-encoding'];
        res.writeHead(status, fields);
        res.flushHeaders();
      },
      onResponseData(c, chunk) {
        if (!res.write(chunk)) c.pause();
      },
      onResponseEnd() {
        res.end();
      },
      onResponseError() {
        res.destroy();
      },
    },
  );
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
