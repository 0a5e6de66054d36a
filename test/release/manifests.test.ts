import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
// @ts-expect-error: a script of the project without types
import * as script from '../../build/release/manifests.mjs';
import { projectRoot } from '../helpers/project-files.ts';

type Json = Readonly<Record<string, unknown>>;

const { manifests, differing } = script as {
  manifests: (manifest: Json) => Readonly<Record<string, Json>>;
  differing: () => readonly (readonly [string, Json])[];
};
const own = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Json & {
  name: string;
  description: string;
  version: string;
  mcpName: string;
  files: readonly string[];
};

/** Every value under a key, at any depth. */
function valuesOf(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [...(name === key ? [inner] : []), ...valuesOf(inner, key)]);
}

describe('the manifests of plugins and registries', () => {
  it('are those generated from package.json by npm run manifests', () => {
    expect(differing().map(([path]) => path)).toEqual([]);
  });

  it('have one version, one name and one description of at most 100 characters', () => {
    const all = manifests(own);
    expect(own.description.length).toBeLessThanOrEqual(100);
    for (const [path, manifest] of Object.entries(all)) {
      for (const version of valuesOf(manifest, 'version')) expect([path, version]).toEqual([path, own.version]);
      for (const description of valuesOf(manifest, 'description'))
        expect([path, description]).toEqual([path, own.description]);
    }
    expect(all['server.json']).toMatchObject({ name: own.mcpName });
    expect(own.mcpName.split('/')).toEqual([expect.stringMatching(/^io\.github\./), own.name]);
    for (const path of ['plugin.json', 'gemini-extension.json', 'plugins/mcp-pruner/.claude-plugin/plugin.json']) {
      expect(all[path]).toMatchObject({ name: own.name, version: own.version, description: own.description });
    }
  });

  it('have Claude Code load the recovery tools, which its tool search hides otherwise', () => {
    const all = manifests(own);
    for (const path of ['mcp.json', 'plugins/mcp-pruner/.mcp.json'])
      expect(all[path]).toMatchObject({ mcpServers: { pruner: { alwaysLoad: true } } });
  });

  it('run only the installed program, and nothing at the start of a session', () => {
    const all = manifests(own);
    for (const command of valuesOf(all, 'command')) expect(command).toBe(own.name);
    expect(valuesOf(all, 'hooks')).toEqual([]);
    const hooks = readFileSync(join(projectRoot, 'plugins/mcp-pruner/hooks/hooks.json'), 'utf8');
    const command = `${own.name} statusline --searchable`;
    expect(JSON.parse(hooks)).toEqual({
      hooks: { SessionStart: [{ matcher: 'compact', hooks: [{ type: 'command', command, timeout: 10 }] }] },
    });
    for (const file of ['README.md', 'skills/report/SKILL.md']) {
      expect(readFileSync(join(projectRoot, 'plugins/mcp-pruner', file), 'utf8')).not.toContain('npx');
    }
  });

  it('are in the package', () => {
    const packed = (path: string): boolean => own.files.some((part) => path === part || path.startsWith(`${part}/`));
    expect(Object.keys(manifests(own)).filter((path) => !packed(path))).toEqual([]);
    expect(packed('plugins/mcp-pruner/skills/report/SKILL.md')).toBe(true);
  });
});
