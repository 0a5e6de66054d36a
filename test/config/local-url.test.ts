import { describe, expect, it } from 'vitest';
import { isLocalUrl } from '../../src/config/warnings.ts';

describe('an upstream on this machine or its network', () => {
  it.each(['http://127.0.0.1:11434/v1', 'http://localhost:1234', 'http://[::1]:8000/v1', 'http://192.168.1.20/v1'])(
    'is %s',
    (url) => expect(isLocalUrl(url)).toBe(true),
  );
  it.each([
    'http://10.0.0.7:8000',
    'http://172.20.1.1',
    'http://studio.local:1234',
    'http://host.docker.internal:8080',
  ])('is %s', (url) => expect(isLocalUrl(url)).toBe(true));
  it.each([
    'http://ollama:11434/v1',
    'http://gpu-box:8000',
    'http://nas.lan:1234',
    'http://studio.local.:1234',
    'http://llm.home.arpa',
    'http://model.internal',
    'http://169.254.8.9:8000',
    'http://100.64.0.1',
    'http://100.127.255.254:11434',
    'http://[fd12:3456::7]:8000/v1',
    'http://[fe80::1]:8000',
    'http://[::ffff:192.168.1.20]:8000',
  ])('is %s', (url) => expect(isLocalUrl(url)).toBe(true));
  it.each([
    'https://api.anthropic.com/v1',
    'http://172.32.0.1',
    'http://10.example.com',
    'http://100.63.0.1',
    'http://100.128.0.1',
    'http://169.253.0.1',
    'http://[2001:db8::1]',
    'http://[::ffff:8.8.8.8]',
    'https://lan.example.com',
    'https://local.dev',
  ])('is not %s', (url) => expect(isLocalUrl(url)).toBe(false));
});
