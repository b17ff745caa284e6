// What is varied between two runs, and what it means when the result changes with it.
import type { FindingKind } from '../verdict/finding.ts';

export const VARIATIONS = {
  clock: {
    kind: 'time',
    what: 'the time of day',
    advice: 'leave the time out, or take it from a declared variable (--env SOURCE_DATE_EPOCH=…)',
  },
  random: {
    kind: 'random',
    what: 'random numbers',
    advice: 'fix the seed (PYTHONHASHSEED=0, --seed …), or sort what comes in the order of a hash',
  },
  addresses: {
    kind: 'random',
    what: 'where in memory things lie (address randomisation)',
    advice: 'do not print addresses, nor sort or hash by them',
  },
  pids: {
    kind: 'pid',
    what: 'process ids',
    advice: 'name temporary things by what they hold, not by $$',
  },
  host: {
    kind: 'host',
    what: 'the host name',
    advice: 'leave it out, or pass it in as a declared variable',
  },
  processors: {
    kind: 'cpu',
    what: 'the number of processors',
    advice: 'let it decide how fast the work is done, not what is made; or pass a fixed number',
  },
  user: {
    kind: 'uid',
    what: 'the user and group',
    advice: 'leave the owner out (tar --owner=0 --group=0 --numeric-owner)',
  },
  umask: {
    kind: 'umask',
    what: 'the umask, and with it the modes of the inputs',
    advice: 'set modes yourself (install -m 644, tar --mode=go=rX,u+rw,a-s)',
  },
  path: {
    kind: 'cwd',
    what: 'the path of the workspace',
    advice: 'use relative paths, or map them (gcc -ffile-prefix-map="$PWD"=.)',
  },
  mtimes: {
    kind: 'mtime',
    what: 'the times of the inputs',
    advice: 'set them to one fixed time before they are packed (tar --mtime=@0, gzip -n, zip -X)',
  },
  order: {
    kind: 'readdir-order',
    what: 'the order of the names in a folder',
    advice: 'sort them (find … | sort, sorted(os.listdir()), tar --sort=name)',
  },
  environment: {
    kind: 'env',
    what: 'variables that are not declared, and where HOME and TMPDIR are',
    advice: 'declare the variable (--env NAME), or do not look at it',
  },
} as const satisfies Record<string, { kind: FindingKind; what: string; advice: string }>;

export type Variation = keyof typeof VARIATIONS;

export const ALL_VARIATIONS: readonly Variation[] = Object.keys(VARIATIONS).filter(isVariation);

export function isVariation(name: string): name is Variation {
  return Object.hasOwn(VARIATIONS, name);
}
