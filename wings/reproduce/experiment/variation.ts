// What is varied between two runs, and what a difference means.
import type { FindingKind } from '../../../hermeticity/verdict/finding.ts';

export const VARIATIONS = {
  clock: {
    kind: 'time',
    what: 'the time of day',
    advice: 'leave the time out, or take it from a declared variable (--env SOURCE_DATE_EPOCH=…)',
  },
  random: {
    kind: 'random',
    what: 'random numbers',
    advice: 'fix the seed (PYTHONHASHSEED=0, --seed …), or sort what comes in hash order',
  },
  addresses: {
    kind: 'random',
    what: 'memory addresses (address space randomisation)',
    advice: 'do not print addresses, nor sort or hash by them',
  },
  pids: {
    kind: 'pid',
    what: 'process ids',
    advice: 'name temporary files by their content, not by $$',
  },
  host: {
    kind: 'host',
    what: 'the host name, or the domain name',
    advice: 'leave it out, or pass it in as a declared variable',
  },
  network: {
    kind: 'host',
    what: 'the addresses of the machine',
    advice: 'leave them out, or pass one in as a declared variable',
  },
  limits: {
    kind: 'limits',
    what: 'the limits and the priority of the process (ulimit, nice)',
    advice: 'leave them out of the outputs, or set them in the command',
  },
  processors: {
    kind: 'cpu',
    what: 'the number of processors',
    advice: 'use it for speed only, not for the outputs; or pass a fixed number',
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
    what: 'undeclared variables, and the paths of HOME and TMPDIR',
    advice: 'declare the variable (--env NAME), or do not read it',
  },
} as const satisfies Record<string, { kind: FindingKind; what: string; advice: string }>;

export type Variation = keyof typeof VARIATIONS;

export const ALL_VARIATIONS: readonly Variation[] = Object.keys(VARIATIONS).filter(isVariation);

/** They need namespaces. */
export const IN_NAMESPACES: ReadonlySet<Variation> = new Set(['network', 'pids']);

export function isVariation(name: string): name is Variation {
  return Object.hasOwn(VARIATIONS, name);
}
