// What both bare node:http + undici hops do with a request's fields and with its answer.

/** The client's fields without those that are set anew for the next hop. */
export function fieldsOf(req, setAnew) {
  const fields = [];
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    if (!setAnew.has(req.rawHeaders[i].toLowerCase())) fields.push(req.rawHeaders[i], req.rawHeaders[i + 1]);
  }
  return fields;
}

/** Writes an answer on as it comes; a client that leaves ends it. */
export function passOn(res) {
  let controller;
  res.on('drain', () => controller.resume());
  res.on('close', () => {
    if (!res.writableFinished) controller?.abort(new Error('gone'));
  });
  return {
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
  };
}
