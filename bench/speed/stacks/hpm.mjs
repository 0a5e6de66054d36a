// A bare express + http-proxy-middleware with a keep-alive agent.
import { Agent } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';

const [, , port, upstream] = process.argv;
const app = express();
app.get('/health', (_req, res) => res.json({ status: 'healthy' }));
app.use(
  '/v1',
  createProxyMiddleware({ target: `${upstream}/v1`, changeOrigin: true, agent: new Agent({ keepAlive: true }) }),
);
app.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
