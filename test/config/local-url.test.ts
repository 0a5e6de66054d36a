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
  it.each(['https://api.anthropic.com/v1', 'http://172.32.0.1', 'http://10.example.com', 'http://local'])(
    'is not %s',
    (url) => expect(isLocalUrl(url)).toBe(false),
  );
});
