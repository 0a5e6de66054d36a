// A bare node:http + undici pass-through that collects the body, as whatever edits it must; with a third argument it
// compresses it by llmtrim.
import { createServer } from 'node:http';
import { Pool } from 'undici';

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
    const headers = [];
    for (let i = 0; i < req.rawHeaders.length; i += 2) {
      const name = req.rawHeaders[i].toLowerCase();
      if (name !== 'host' && name !== 'connection' && name !== 'content-length' && name !== 'transfer-encoding')
        headers.push(req.rawHeaders[i], req.rawHeaders[i + 1]);
    }
    let controller;
    res.on('drain', () => controller.resume());
    res.on('close', () => {
      if (!res.writableFinished) controller?.abort(new Error('gone'));
    });
    pool.dispatch(
      { method: req.method, path: req.url, headers, body },
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
  });
  req.on('error', () => {});
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
