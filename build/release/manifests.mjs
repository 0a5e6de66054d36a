// node build/release/manifests.mjs [--check]
// Writes every manifest by which agents and registries find the product. Name, version and description come from
// package.json alone. With --check nothing is written: files that differ are listed, and the exit code is 1.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Files by their path below the project, as they must be for a package. */
export function manifests({ name, version, description, homepage, repository, license, keywords, author, mcpName }) {
  const url = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  const about = { name, version, description, author, homepage, repository: url, license, keywords };
  // the installed program: nothing that runs at the start of a session may fetch code
  const command = { command: name, args: ['stdio', '--tools', 'recover_text,recall'] };
  const servers = { mcpServers: { pruner: command } };
  // Claude Code's tool search hides the tools of a server without this
  const loaded = { mcpServers: { pruner: { ...command, alwaysLoad: true } } };
  const folder = `plugins/${name}`;
  return {
    'plugin.json': { ...about, mcpServers: './mcp.json', skills: `./${folder}/skills` },
    'mcp.json': loaded,
    'gemini-extension.json': { name, version, description, ...servers },
    'server.json': {
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: mcpName,
      description,
      version,
      repository: { url, source: 'github' },
      websiteUrl: homepage,
      packages: [
        {
          registryType: 'npm',
          identifier: name,
          version,
          transport: { type: 'stdio' },
          packageArguments: [
            { type: 'positional', value: 'stdio' },
            { type: 'named', name: '--tools', value: 'recover_text,recall' },
          ],
        },
      ],
    },
    '.claude-plugin/marketplace.json': {
      name,
      owner: author,
      metadata: { description, version },
      plugins: [
        { name, source: `./${folder}`, description, version, author, homepage, repository: url, license, keywords },
      ],
    },
    '.agents/plugins/marketplace.json': {
      name,
      interface: { displayName: name },
      plugins: [
        {
          name,
          source: { source: 'local', path: `./${folder}` },
          policy: { installation: 'AVAILABLE', authentication: 'ON_INSTALL' },
          category: 'Productivity',
        },
      ],
    },
    [`${folder}/.claude-plugin/plugin.json`]: about,
    [`${folder}/.codex-plugin/plugin.json`]: {
      ...about,
      skills: './skills/',
      mcpServers: './.mcp.json',
      interface: { displayName: name, shortDescription: description, category: 'Productivity' },
    },
    [`${folder}/.mcp.json`]: loaded,
  };
}

/** The files that differ from what the package says. */
export function differing(folder = root) {
  const made = manifests(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  return Object.entries(made).filter(([path, value]) => textOf(value) !== currentText(join(folder, path)));
}

const textOf = (value) => `${JSON.stringify(value, null, 2)}\n`;

function currentText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const wrong = differing();
  for (const [path, value] of wrong) {
    if (argv.includes('--check')) {
      process.exitCode = 1;
    } else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), textOf(value));
    }
    process.stdout.write(`${path}\n`);
  }
}
