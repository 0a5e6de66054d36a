import { describe, expect, it } from 'vitest';
import { type Allowed, allowedCallers, isForeign, isForeignHost, isForeignPage } from '../../src/core/web-origin.ts';

const NOBODY = allowedCallers([], []);
const OWN = '127.0.0.1:8006';

function foreign(headers: { host?: string; origin?: string; site?: string }, allowed: Allowed = NOBODY): boolean {
  const { host = OWN, origin, site } = headers;
  return isForeign({ host, origin, secFetchSite: site }, allowed);
}

describe('isForeign', () => {
  it.each(['127.0.0.1:8006', 'localhost', 'LOCALHOST:1', '[::1]:8006', '127.9.8.7'])(
    'treats a program that addresses %s as local',
    (host) => expect(foreign({ host })).toBe(false),
  );

  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8006', '', 'a@localhost', '10.0.0.1'])(
    'treats a request to the host %j as foreign',
    (host) => expect(foreign({ host })).toBe(true),
  );

  it('treats a request without Host as foreign', () =>
    expect(isForeignHost({ host: undefined, origin: undefined, secFetchSite: undefined }, NOBODY)).toBe(true));

  it.each(['https://evil.example', 'null', 'file://', 'http://localhost:3000', 'http://127.0.0.1', `ftp://${OWN}`])(
    'treats a page of %s as foreign',
    (origin) => expect(foreign({ origin })).toBe(true),
  );

  it('recognises its own pages by any loopback name', () => {
    expect(foreign({ origin: `http://${OWN}` })).toBe(false);
    expect(foreign({ host: 'localhost:8006', origin: 'http://localhost:8006' })).toBe(false);
    expect(foreign({ host: '[::1]:8006', origin: 'http://[::1]:8006' })).toBe(false);
    expect(foreign({ host: 'LocalHost:8006', origin: 'http://localhost:8006' })).toBe(false);
  });

  it('rejects a rebound name even if Origin and Host agree', () =>
    expect(foreign({ host: 'evil.example:8006', origin: 'http://evil.example:8006' })).toBe(true));

  it.each([
    ['cross-site', true],
    ['same-site', true], // a page on another port of this machine
    ['same-origin', false],
    ['none', false], // typed into the address bar
  ])('uses Sec-Fetch-Site %s if a browser sends no Origin', (site, is) => expect(foreign({ site })).toBe(is));

  it('admits only listed pages and names, in any spelling', () => {
    const allowed = allowedCallers(['Pruner.lan', 'box:8006'], ['http://LocalHost:3000/', 'vscode-webview://abc']);
    expect(foreign({ origin: 'http://localhost:3000', site: 'same-site' }, allowed)).toBe(false);
    expect(foreign({ origin: 'vscode-webview://ABC' }, allowed)).toBe(false);
    expect(foreign({ origin: 'http://localhost:3001' }, allowed)).toBe(true);
    for (const host of ['pruner.lan', 'PRUNER.lan:99', 'box:8006']) expect(foreign({ host }, allowed)).toBe(false);
    expect(foreign({ host: 'box:8007' }, allowed)).toBe(true);
    expect(foreign({ host: 'pruner.lan', origin: 'https://pruner.lan' }, allowed)).toBe(false);
    expect(foreign({ host: 'pruner.lan', origin: 'https://pruner.lan:99' }, allowed)).toBe(true);
  });

  it('admits programs under any name if other machines are allowed, but no pages', () => {
    const allowed = allowedCallers([], [], true);
    expect(foreign({ host: 'mcp-pruner:8006' }, allowed)).toBe(false);
    expect(foreign({ host: 'mcp-pruner:8006', origin: 'http://mcp-pruner:8006' }, allowed)).toBe(true);
    expect(isForeignPage({ host: 'a', origin: undefined, secFetchSite: 'cross-site' }, allowed)).toBe(true);
  });
});
