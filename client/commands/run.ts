// `assay run`: reads the flags, runs one action, says how it went.
import { realpathSync, statSync } from 'node:fs';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  usage,
} from '../../core/command.ts';
import { AssayError } from '../../core/errors.ts';
import { isWithin, type RelPath, ROOT, relPathFromUser, toSystemPath } from '../../core/path.ts';
import { openCache } from '../cache.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { Reporter } from '../reporter.ts';
import type { DeclaredVariable, InputPattern, RunRequest } from '../request.ts';
import { run } from '../run.ts';
import { storeFolder } from '../store-folder.ts';

const flags = {
  input: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'a file, folder or glob that the command reads; "!GLOB" takes away',
  },
  'optional-input': {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'the same, but it may match nothing',
  },
  'include-ignored': { type: 'boolean', text: 'take files that .gitignore hides, too' },
  output: {
    type: 'string',
    multiple: true,
    value: 'PATH',
    text: 'a file or folder that the command makes; it belongs to the command,\nwhat else lies there goes',
  },
  env: {
    type: 'string',
    multiple: true,
    value: 'NAME|NAME=VALUE',
    text: 'a variable that the command sees; all others are hidden from it',
  },
  tool: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'a program that the command uses; its content is in the key\n(the command’s own program always is)',
  },
  cwd: { type: 'string', value: 'DIR', text: 'the folder to run in, below this one (default: this one)' },
  'cache-failures': { type: 'boolean', text: 'keep and replay results with an exit code other than 0' },
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the local store (default: ASSAY_STORE, or the user’s cache folder)',
  },
  remote: {
    type: 'string',
    value: 'URL',
    text: 'a shared cache, http:// or https:// (default: ASSAY_REMOTE)',
  },
  json: { type: 'boolean', text: 'the last line of standard error is one JSON object' },
} satisfies FlagTable;

export const runCommand: CommandModule = {
  failureCode: 125,
  help: {
    usage: 'assay run [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs COMMAND in this folder, the workspace, unless the same action has run before: then its outputs are put in',
      'place, its log is said again and its exit code is given back. The same action means: the same command, inputs,',
      'declared variables, tools, platform and outputs. All paths are relative to the workspace.',
      '',
      'COMMAND sees only the declared variables and PATH, HOME, TMPDIR, TZ=UTC, LC_ALL=C.UTF-8.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL; its faults never change what a run does',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token; never passed to COMMAND',
    },
    exitCodes: {
      'of COMMAND': 'whether it ran or was replayed; 128+N if signal N ended it',
      '125': 'Assay refused the request; nothing ran',
      '127': 'COMMAND was not found',
    },
    examples: [
      "assay run --input 'src/**' --output dist --env NODE_ENV --tool node -- node build.js",
      "assay run --input 'src/*.c' --input '!src/gen.c' --output app -- cc -o app src/main.c",
    ],
  },
  async main(args) {
    const { own, command } = splitCommand(args);
    const parsed = parseFlags(own, flags);
    const request = requestFrom(parsed, command);
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    const reporter = new Reporter(process.stderr, parsed.given('json'));
    const { report } = reporter;
    const cache = await openCache({
      storeFolder: storeFolder(parsed.text('store'), process.env),
      workspace: request.workspace,
      remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
      token: process.env.ASSAY_TOKEN,
      now: Date.now,
      report,
    });
    try {
      const { stdout, stderr, env: caller } = process;
      const summary = await run(request, { cache, caller, stdout, stderr, report, now: Date.now });
      reporter.summary(summary);
      return summary.exitCode;
    } finally {
      await cache.close();
    }
  },
};

function splitCommand(args: readonly string[]): { own: string[]; command: [string, ...string[]] } {
  const end = args.indexOf('--');
  const [program, ...rest] = end === -1 ? [] : args.slice(end + 1);
  if (!program) throw usage('the command to run stands after `--`: assay run [FLAGS] -- COMMAND');
  return { own: args.slice(0, end), command: [program, ...rest] };
}

function requestFrom(parsed: ParsedFlags, command: [string, ...string[]]): RunRequest {
  const [stray] = parsed.positionals;
  if (stray !== undefined)
    throw usage(`${JSON.stringify(stray)} is no flag; the command stands after \`--\``);
  const workspace = realpathSync(process.cwd());
  return {
    workspace,
    workingDirectory: workingDirectory(workspace, parsed.text('cwd')),
    command,
    inputs: [...patterns(parsed.all('input'), false), ...patterns(parsed.all('optional-input'), true)],
    includeIgnored: parsed.given('include-ignored'),
    outputs: outputs(parsed.all('output')),
    variables: parsed.all('env').map(variable),
    tools: parsed.all('tool'),
    cacheFailures: parsed.given('cache-failures'),
  };
}

function workingDirectory(workspace: string, folder: string | undefined): RelPath {
  const path = relPathFromUser(folder ?? '');
  const isFolder = statSync(toSystemPath(workspace, path), { throwIfNoEntry: false })?.isDirectory();
  if (!isFolder) throw usage(`--cwd ${JSON.stringify(folder)} is not a folder in the workspace`);
  return path;
}

function patterns(globs: readonly string[], optional: boolean): InputPattern[] {
  return globs.map((pattern) => ({ pattern, optional }));
}

function outputs(paths: readonly string[]): RelPath[] {
  const found = [...new Set(paths.map(relPathFromUser))];
  if (found.includes(ROOT))
    throw new AssayError('ASSAY_OUTPUT_OVERLAP', 'an output can’t be the whole workspace');
  for (const inner of found) {
    const outer = found.find((path) => path !== inner && isWithin(inner, path));
    if (outer !== undefined) throw new AssayError('ASSAY_OUTPUT_OVERLAP', `${inner} lies inside ${outer}`);
  }
  return found;
}

function variable(text: string): DeclaredVariable {
  const at = text.indexOf('=');
  return at === -1 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
}
