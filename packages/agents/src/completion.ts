import { type Command, type LazyCommand, textOption, UsageError, valued } from 'mcp-pruner/cli/command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly options: Command['options'];
  readonly words: readonly string[];
}

/** Adds `--completion <shell>` to a command: a script that completes the names of commands, options and agents. */
export function withCompletion(command: Command, commands: Readonly<Record<string, LazyCommand>>): Command {
  const doc = `print a script that completes commands: ${SHELLS.join(', ')}; such as eval "$(mcp-pruner setup --completion bash)"`;
  return {
    ...command,
    options: { ...command.options, completion: valued('<shell>', doc) },
    arguments: { ...command.arguments, min: 0 },

    async run(call, io) {
      const name = textOption(call, 'completion');
      if (name === undefined) return command.run(call, io);
      const shell = SHELLS.find((known) => known === name);
      if (shell === undefined) throw new UsageError(`${name} is not one of ${SHELLS.join(', ')}`);
      const listed = Object.entries(commands).filter(([, { group }]) => group !== undefined);
      const completed = await Promise.all(
        listed.map(async ([name, { summary, load }]): Promise<Completed> => {
          const { options, words = [] } = await load(async () => io.edition);
          return { name, summary, options, words };
        }),
      );
      io.out(scripts[shell](completed));
      return 0;
    },
  };
}

const scripts: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = {
  bash: bashScript,
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
};

function bashScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ name, options, words }) => {
    const known = [...words, ...Object.keys(options).map((option) => `--${option}`), '--help'];
    return `    ${name}) words="${known.join(' ')}" ;;`;
  });
  return [
    '_mcp_pruner() {',
    '  local words=""',
    `  case "$COMP_CWORD:\${COMP_WORDS[1]}" in`,
    `    1:*) words="${commands.map(({ name }) => name).join(' ')}" ;;`,
    `    *) case "\${COMP_WORDS[1]}" in`,
    ...cases,
    '    esac ;;',
    '  esac',
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    'complete -o default -F _mcp_pruner mcp-pruner',
    '',
  ].join('\n');
}

function fishScript(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, options, words }) => [
    `complete -c mcp-pruner -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...Object.entries(options).map(([option, { type, doc }]) => {
      const value = type === 'string' ? ' -r' : '';
      return `complete -c mcp-pruner -n '__fish_seen_subcommand_from ${name}' -l ${option}${value} -d ${quoted(doc)}`;
    }),
    ...(words.length === 0
      ? []
      : [`complete -c mcp-pruner -n '__fish_seen_subcommand_from ${name}' -a '${words.join(' ')}'`]),
  ]);
  return `${lines.join('\n')}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
