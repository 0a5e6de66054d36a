import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import { keysOf, variablesOf } from '../../src/config/settings.ts';
import { edition } from '../../src/edition.ts';
import { machine } from './machine.ts';
import { composeFile, configurationPage, defaultToml } from './print.ts';

const { rows } = edition.settings;

const shipped = new URL('../../config/default.toml', import.meta.url);

describe('the documents of the configuration', () => {
  it('config/default.toml is generated from the table of settings', async () => {
    await expect(defaultToml()).toMatchFileSnapshot('../../config/default.toml');
  });

  it('docs/configuration.md is generated from the table of settings', async () => {
    await expect(configurationPage()).toMatchFileSnapshot('../../docs/configuration.md');
  });

  it('docker-compose.yml passes on the settings of the table', async () => {
    const asItIs = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
    await expect(composeFile(asItIs)).toMatchFileSnapshot('../../docker-compose.yml');
    expect(asItIs).toMatch(/^ {6}MCP_PRUNER_UPSTREAM_URL:$/m);
    expect(asItIs).not.toContain(':?'); // would ask for it at each command, `docker compose ps` too
  });

  it('loading config/default.toml gives exactly the defaults', () => {
    const text = readFileSync(shipped, 'utf8');
    const fromFile = loadSettings(machine({ files: { '/etc/default.toml': text }, configFile: '/etc/default.toml' }));
    expect(fromFile.settings).toEqual(loadSettings(machine()).settings);
    expect(fromFile.warnings).toEqual([]);
  });

  it('config/default.toml documents every key of a configuration file', () => {
    const text = readFileSync(shipped, 'utf8');
    const keys = rows.flatMap(({ setting: { onlyFields, fields, toml } }) =>
      toml === null ? [] : onlyFields ? Object.values(fields ?? {}).flatMap((field) => field.toml ?? []) : toml,
    );
    const documented = [...text.matchAll(/^(?:# )?(\w+) = /gm)].map(([, key]) => key);
    expect(documented).toEqual(keys);
    for (const { setting } of rows) if (setting.toml !== null) expect(text).toContain(setting.doc);
  });

  it('no name belongs to two settings', () => {
    const names = rows.flatMap(({ setting }) => [...variablesOf(setting), ...keysOf(setting)]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('every default is valid for its setting', () => {
    for (const { key, setting } of rows) {
      if (key === 'dbPath') continue; // its default depends on the machine
      expect(setting.rule.schema.safeParse(setting.fallback).success, key).toBe(true);
    }
  });
});
