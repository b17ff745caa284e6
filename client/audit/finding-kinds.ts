// What each kind of finding means and how it is mended, in one sentence each, and in which group it stands: by what there
// is to do. docs/HERMETICITY.md tells more.
import type { FindingKind } from '../../hermeticity/verdict/finding.ts';

export interface KindWords {
  readonly title: string;
  readonly meaning: string;
  readonly mend: string;
}

export const KINDS: Readonly<Record<FindingKind, KindWords>> = {
  read: {
    title: 'Undeclared read',
    meaning:
      'A file, link or program was used that is not declared, so a change of it does not change the key.',
    mend: 'Declare it with --input or --tool, or copy it into the workspace.',
  },
  absent: {
    title: 'Looked for, and not there',
    meaning: 'A file that appeared there would change the result, and is not in the key.',
    mend: 'Declare it with --optional-input.',
  },
  probe: {
    title: 'Undeclared look',
    meaning: 'The result may depend on whether something is there that is not declared.',
    mend: 'Declare it, or stop asking.',
  },
  list: {
    title: 'Undeclared listing',
    meaning: 'The names in a folder were read; a file that appeared in it would change the result.',
    mend: 'Declare a pattern such as --input "folder/*" instead of single files.',
  },
  write: {
    title: 'Undeclared write',
    meaning: 'Something was left behind that no output names, so a hit does not bring it back.',
    mend: 'Declare it with --output, write it to TMPDIR, or remove it before the end.',
  },
  delete: {
    title: 'Undeclared removal',
    meaning: 'Something is gone that the action did not make.',
    mend: 'Work on a copy in TMPDIR.',
  },
  mutate: {
    title: 'Changed its own input',
    meaning: 'The key was made from content that the action then changed.',
    mend: 'Write to an output instead.',
  },
  'stale-output': {
    title: 'Read an earlier output',
    meaning: 'The result depends on what an earlier run left.',
    mend: 'Remove outputs first, and write with > instead of >>.',
  },
  'symlink-escape': {
    title: 'Output leaves the workspace',
    meaning: 'An output is, or goes through, a link out of the workspace.',
    mend: 'Make the link relative and within the workspace, or copy the file.',
  },
  net: {
    title: 'Network',
    meaning: 'Something answered that is in no key.',
    mend: 'Fetch it beforehand and declare the file; give a test its own server on loopback.',
  },
  unix: {
    title: 'Unix socket',
    meaning: 'A process outside of the action answered, and what it knows is in no key.',
    mend: 'Start what is needed within the action.',
  },
  io_uring: {
    title: 'io_uring',
    meaning: 'A program wanted to work by a way that can’t be watched; it was denied.',
    mend: 'Nothing, if it works without; most programs have a switch.',
  },
  survivor: {
    title: 'Process left behind',
    meaning: 'A process went on after the command had ended, and was ended.',
    mend: 'Wait for what was started, or stop it.',
  },
  env: {
    title: 'Depends on the environment',
    meaning: 'The result changes with variables that are not declared.',
    mend: 'Declare the variable with --env, or do not look at it.',
  },
  time: {
    title: 'Depends on the time',
    meaning: 'The result changes with the time of day, or with how long things take.',
    mend: 'Leave it out, or take it from a declared variable such as SOURCE_DATE_EPOCH.',
  },
  random: {
    title: 'Depends on chance',
    meaning: 'The result changes from run to run.',
    mend: 'Fix the seed, and sort what comes in no fixed order.',
  },
  pid: {
    title: 'Depends on process ids',
    meaning: 'The result changes with the numbers that the kernel gives to processes.',
    mend: 'Name things by what they hold.',
  },
  host: {
    title: 'Depends on the host name',
    meaning: 'Another machine makes another result.',
    mend: 'Leave it out, or pass it in as a declared variable.',
  },
  cpu: {
    title: 'Depends on the number of processors',
    meaning: 'A machine with more or fewer processors makes another result.',
    mend: 'Pass a fixed number.',
  },
  uid: {
    title: 'Depends on the user',
    meaning: 'Another user makes another result.',
    mend: 'Leave the owner out.',
  },
  umask: {
    title: 'Depends on the umask',
    meaning: 'The result changes with the modes that files happen to have.',
    mend: 'Set modes yourself.',
  },
  cwd: {
    title: 'Depends on the workspace’s path',
    meaning: 'Another checkout makes another result.',
    mend: 'Use relative paths, or map them.',
  },
  mtime: {
    title: 'Depends on times of files',
    meaning: 'The times of the inputs are in the result, and in no key.',
    mend: 'Set them to one fixed time before they are packed.',
  },
  'readdir-order': {
    title: 'Depends on the order of a folder',
    meaning: 'File systems give names in different orders.',
    mend: 'Sort them.',
  },
};

export const GROUPS: readonly (readonly [title: string, kinds: readonly FindingKind[]])[] = [
  ['Declare what it reads', ['read', 'probe', 'absent', 'list', 'stale-output']],
  ['Declare what it makes, or make it elsewhere', ['write', 'delete', 'mutate', 'symlink-escape']],
  ['Take away what reaches beyond this machine or this run', ['net', 'unix', 'survivor', 'io_uring']],
  [
    'Make it independent of the machine and the moment',
    ['env', 'time', 'random', 'pid', 'host', 'cpu', 'uid', 'umask', 'cwd', 'mtime', 'readdir-order'],
  ],
];
