// Every kind of finding: its title, its meaning, and how to fix it. To add a kind:
// hermeticity/verdict/finding.ts names it, this table describes it. docs/HERMETICITY.md has more.
import type { FindingKind } from '../../hermeticity/verdict/finding.ts';

interface KindWords {
  readonly title: string;
  readonly meaning: string;
  readonly mend: string;
}

export const KINDS: Readonly<Record<FindingKind, KindWords>> = {
  read: {
    title: 'Undeclared read',
    meaning:
      'The command used a file, link or program that is not declared. It is compared before every hit, but the key does not name it.',
    mend: 'Declare it with --input or --tool, or copy it into the workspace.',
  },
  absent: {
    title: 'Looked for a missing file',
    meaning: 'The file does not exist. If it appears, the next run is a miss.',
    mend: 'Declare it with --optional-input.',
  },
  probe: {
    title: 'Undeclared existence check',
    meaning: 'The result may depend on this undeclared path. It is compared before every hit.',
    mend: 'Declare it, or do not check for it.',
  },
  list: {
    title: 'Undeclared listing',
    meaning: 'The command listed a folder. If a name appears in it or goes away, the next run is a miss.',
    mend: 'Declare a pattern such as --input "folder/*" instead of single files.',
  },
  write: {
    title: 'Undeclared write',
    meaning:
      'The command wrote a file that is no output. A hit does not restore it, so there is a hit only while it is there.',
    mend: 'Declare it with --output, write it to TMPDIR, or remove it before the command ends.',
  },
  delete: {
    title: 'Undeclared removal',
    meaning: 'The command removed a file that it did not create.',
    mend: 'Work on a copy in TMPDIR.',
  },
  mutate: {
    title: 'Changed its own input',
    meaning: 'The command changed an input after the key was computed from it.',
    mend: 'Write to an output instead.',
  },
  'stale-output': {
    title: 'Read an earlier output',
    meaning: 'The result depends on what an earlier run wrote.',
    mend: 'Remove the outputs first, and write with > instead of >>.',
  },
  'symlink-escape': {
    title: 'Output leaves the workspace',
    meaning: 'An output is, or lies behind, a symbolic link that leads out of the workspace.',
    mend: 'Make the link relative and within the workspace, or copy the file.',
  },
  net: {
    title: 'Network',
    meaning: 'The command used the network. The answer is not part of the key.',
    mend: 'Download the data first and declare the file. Give a test its own server on loopback.',
  },
  unix: {
    title: 'Unix socket',
    meaning: 'A process outside the action answered. Its state is not part of the key.',
    mend: 'Start the needed process within the action.',
  },
  io_uring: {
    title: 'io_uring',
    meaning: 'A program tried io_uring, which cannot be traced, and was denied.',
    mend: 'Nothing, if the program works without it. Most programs have a switch.',
  },
  setuid: {
    title: 'Program without its rights',
    meaning:
      'The command ran a program that gets other rights from its file (set-user-ID, set-group-ID, capabilities). A traced program does not get them.',
    mend: 'Do what needs these rights before the command, or run it with --hermetic=off.',
  },
  survivor: {
    title: 'Process left behind',
    meaning: 'A process was still running when the command ended. Assay ended it.',
    mend: 'Wait for every process that the command starts, or stop it.',
  },
  env: {
    title: 'Depends on the environment',
    meaning: 'The result changes with variables that are not declared.',
    mend: 'Declare the variable with --env, or do not use it.',
  },
  time: {
    title: 'Depends on the time',
    meaning: 'The result changes with the time of day, or with how long things take.',
    mend: 'Leave the time out, or take it from a declared variable such as SOURCE_DATE_EPOCH.',
  },
  random: {
    title: 'Depends on randomness',
    meaning: 'The result changes from run to run.',
    mend: 'Fix the seed, and sort data that has no fixed order.',
  },
  pid: {
    title: 'Depends on process ids',
    meaning: 'The result changes with the process ids that the kernel assigns.',
    mend: 'Name files by their content, not by a process id.',
  },
  host: {
    title: 'Depends on the machine',
    meaning: 'Another machine, or another moment, produces another result, and nothing can be compared.',
    mend: 'Leave it out, or pass it in as a declared variable.',
  },
  cpu: {
    title: 'Depends on the number of processors',
    meaning: 'A machine with more or fewer processors produces another result.',
    mend: 'Pass a fixed number of processors.',
  },
  uid: {
    title: 'Depends on the user',
    meaning: 'Another user produces another result.',
    mend: 'Leave the owner out of the result.',
  },
  limits: {
    title: 'Depends on limits or priority',
    meaning: 'The result changes with the limits (ulimit) or the priority (nice) of the process.',
    mend: 'Leave them out of the result, or set them in the command.',
  },
  umask: {
    title: 'Depends on the umask',
    meaning: 'The result changes with the default permissions of new files.',
    mend: 'Set the modes of files explicitly.',
  },
  cwd: {
    title: 'Depends on the workspace’s path',
    meaning: 'A checkout in another folder produces another result.',
    mend: 'Use relative paths, or map absolute ones.',
  },
  mtime: {
    title: 'Depends on file times',
    meaning: 'The result contains the mtimes of inputs, which are not part of the key.',
    mend: 'Set all mtimes to one fixed time before packing.',
  },
  'readdir-order': {
    title: 'Depends on directory order',
    meaning: 'File systems list names in different orders.',
    mend: 'Sort the names.',
  },
};
