// `assay completion`: prints a script that completes commands and flags in bash, zsh or fish.
// Names and flags come from the table of commands and from each command's help, so they cannot differ.
import { type CommandEntry, type CommandModule, type CommandTable, parseFlags, usage } from './command.ts';

interface Known {
  readonly name: string;
  readonly summary: string;
  /** Each flag with its description. */
  readonly flags: readonly (readonly [flag: string, text: string])[];
}

const SHELLS: Readonly<Record<string, (commands: readonly Known[]) => string>> = {
  bash,
  zsh: (commands) => `autoload -U +X compinit bashcompinit\ncompinit\nbashcompinit\n${bash(commands)}`,
  fish,
};

export function completionCommand(commands: CommandTable): CommandModule {
  return {
    failureCode: 2,
    help: {
      usage: 'assay completion bash|zsh|fish',
      text: 'Prints a script that completes the commands of assay and their flags. Load it where your shell starts.',
      flags: {},
      examples: [
        'source <(assay completion bash)',
        'source <(assay completion zsh)',
        'assay completion fish | source',
      ],
    },
    async main(args) {
      const [name = '', ...more] = parseFlags(args, {}).positionals;
      const shell = Object.hasOwn(SHELLS, name) ? SHELLS[name] : undefined;
      if (!shell || more.length > 0) throw usage('name one shell: assay completion bash|zsh|fish');
      process.stdout.write(shell(await Promise.all(Object.entries(commands).map(known))));
      return 0;
    },
  };
}

async function known([name, { summary, load }]: [string, CommandEntry]): Promise<Known> {
  const { flags } = (await load()).help;
  return {
    name,
    summary,
    flags: [...Object.entries(flags).map(([flag, { text }]) => [flag, text] as const), HELP],
  };
}

const HELP = ['help', 'describe the command'] as const;

/** What stands after `--` is the wrapped command’s, and completes as files. */
function bash(commands: readonly Known[]): string {
  const cases = commands.map(
    ({ name, flags }) => `      ${name}) choices='${flags.map(([flag]) => `--${flag}`).join(' ')}' ;;`,
  );
  return `_assay() {
  local word="\${COMP_WORDS[COMP_CWORD]}" choices='' at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [ "\${COMP_WORDS[at]}" = -- ]; then return; fi
  done
  if [ "$COMP_CWORD" -eq 1 ]; then
    choices='${commands.map(({ name }) => name).join(' ')}'
  elif [[ "$word" == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}
complete -o default -F _assay assay
`;
}

function fish(commands: readonly Known[]): string {
  const lines = commands.flatMap(({ name, summary, flags }) => [
    `complete -c assay -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...flags.map(
      ([flag, text]) =>
        `complete -c assay -n '__fish_seen_subcommand_from ${name}' -l ${flag} -d ${quoted(text)}`,
    ),
  ]);
  return `${lines.join('\n')}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\n', ' ').replaceAll(/['\\]/g, '\\$&')}'`;
}
