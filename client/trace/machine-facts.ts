// Facts about the machine that show in the outputs of a watched run: the texts to search for, and what
// becomes of those that are found.
import { MACHINE } from '../../core/path-set.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import type { FoundTexts, MachineText } from '../outputs/machine-text.ts';
import { outerAddresses } from '../path-sets/addresses.ts';
import type { Fact } from '../path-sets/gather.ts';
import { type Machine, macProperties } from '../path-sets/machine.ts';

/** `withAddresses`: the command asked for the addresses of the machine. */
export function machineTexts(machine: Machine, withAddresses: boolean): MachineText[] {
  const texts = (property: string, kind: MachineText['kind'], forms = (value: string) => [value]) =>
    machine.values(property).flatMap((value) => forms(value).map((text) => ({ property, kind, text })));
  return [
    ...texts('workspace', 'path'),
    ...texts('sources', 'path'),
    ...texts('home', 'path'),
    ...texts('user', 'name'),
    ...texts('host', 'name', (host) => [...new Set([host, host.replace(/\..*/, '')])]),
    ...texts('domain', 'name'),
    ...texts('kernel', 'name'),
    ...texts('kernel-build', 'name'),
    ...(withAddresses ? outerAddresses() : []).map(addressText),
    ...macProperties().flatMap((property) => texts(property, 'name', formsOfMac)),
  ];
}

function addressText(text: string): MachineText {
  return { property: 'addresses', kind: 'name', text };
}

function formsOfMac(address: string): string[] {
  const spelled = [':', '-', ''].map((separator) => address.replaceAll(':', separator));
  return spelled.flatMap((text) => [text.toLowerCase(), text.toUpperCase()]);
}

/** `report`: its programs decide which flag would keep the workspace's path out of the output. */
export function machineFacts(found: FoundTexts, workspace: string, report: TraceReport): Fact[] {
  return [...found].map(([property, output]) => {
    const remedy = property === 'workspace' ? `: ${remedyFor(`${workspace}/${output}`, report)}` : '';
    return { root: MACHINE, path: property, note: `and ${output} contains it${remedy}` };
  });
}

interface Language {
  readonly programs: RegExp;
  readonly remedy: string;
}

/** A compiler that starts another one comes first. */
const LANGUAGES: readonly Language[] = [
  { programs: /^(?:rustc|cargo)$/, remedy: 'compile with --remap-path-prefix=$PWD=.' },
  { programs: /^(?:go|compile)$/, remedy: 'build with -trimpath' },
  {
    programs: /^(?:.*-)?(?:cc1|cc1plus|cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(?:-[\d.]+)?$/,
    remedy: 'compile with -ffile-prefix-map=$PWD=.',
  },
];

const OTHERWISE = 'run with --sandbox';

/** Programs that write what others have compiled. */
const COPIES = /^(?:.*-)?(?:ar|cat|cp|dd|install|ld|ld\.\w+|lld|mv|objcopy|ranlib|strip|tar)$/;

function remedyFor(output: string, report: TraceReport): string {
  const writer = report.accesses.find(
    (access) =>
      (access.kind === 'write' && access.path === output) ||
      ((access.kind === 'rename' || access.kind === 'hardlink') && access.to === output),
  );
  const own = writer ? programsAbove(writer.process, report) : [];
  const isCopied = own.length === 0 || COPIES.test(own[0] ?? '');
  const all = isCopied ? [...own, ...report.processes.map(programOf)] : own;
  const language = LANGUAGES.find(({ programs }) => all.some((program) => programs.test(program)));
  return language?.remedy ?? OTHERWISE;
}

/** The program of a process, and those of the processes that started it. */
function programsAbove(index: number, { processes }: TraceReport): string[] {
  const programs: string[] = [];
  for (let at: number | undefined = index; at !== undefined; at = processes[at]?.parent) {
    const process = processes[at];
    if (process) programs.push(programOf(process));
  }
  return programs;
}

function programOf({ argv }: TraceReport['processes'][number]): string {
  return argv[0]?.replace(/.*\//, '') ?? '';
}
