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
  const flagsOf = commands.map(
    ({ name, flags }) =>
      `      ${pattern(name)}) choices='${flags.map(([flag]) => `--${flag}`).join(' ')}' ;;`,
  );
  const seconds = groupsIn(commands).map(
    ([first, group]) => `      ${first}) choices='${group.map(({ name }) => second(name)).join(' ')}' ;;`,
  );
  return `_assay() {
  local word="\${COMP_WORDS[COMP_CWORD]}" choices='' at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [ "\${COMP_WORDS[at]}" = -- ]; then return; fi
  done
  if [ "$COMP_CWORD" -eq 1 ]; then
    choices='${[...new Set(commands.map(({ name }) => firstWord(name)))].join(' ')}'
  elif [[ "$word" == -* ]]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]} " in
${flagsOf.join('\n')}
    esac
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${seconds.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}
complete -o default -F _assay assay
`;
}

/** Of a case in bash: the words of the name, and a space. */
function pattern(name: string): string {
  return `${name.replace(' ', '\\ ')}\\ *`;
}

function fish(commands: readonly Known[]): string {
  const firsts = commands
    .filter(({ name }) => second(name) === undefined)
    .map(
      ({ name, summary }) => `complete -c assay -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    );
  const groups = groupsIn(commands).flatMap(([first, group]) => [
    `complete -c assay -n __fish_use_subcommand -f -a ${first}`,
    ...group.map(
      ({ name, summary }) =>
        `complete -c assay -n '__fish_seen_subcommand_from ${first}' -f -a ${second(name)} -d ${quoted(summary)}`,
    ),
  ]);
  const flags = commands.flatMap(({ name, flags }) =>
    flags.map(([flag, text]) => `complete -c assay -n '${seen(name)}' -l ${flag} -d ${quoted(text)}`),
  );
  return `${[...firsts, ...groups, ...flags].join('\n')}\n`;
}

/** The condition in fish that the command's words were typed. */
function seen(name: string): string {
  return name
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ');
}

/** The commands of two words, by the first one. */
function groupsIn(commands: readonly Known[]): [string, Known[]][] {
  return [
    ...Map.groupBy(
      commands.filter(({ name }) => second(name)),
      ({ name }) => firstWord(name),
    ),
  ];
}

function firstWord(name: string): string {
  return name.split(' ', 1)[0] ?? name;
}

function second(name: string): string | undefined {
  return name.split(' ')[1];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\n', ' ').replaceAll(/['\\]/g, '\\$&')}'`;
}
