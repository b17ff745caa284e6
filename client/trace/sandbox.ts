// Runs an action in the sandbox, with the tracer inside, and judges what it read there.
// The action cannot read an undeclared file, so its path set holds only the installed software that it used.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { toSystemPath } from '../../core/path.ts';
import {
  isInstalledSoftware,
  type Mount,
  requireSandbox,
  SANDBOX,
  type Sandboxed,
  sandboxed,
} from '../../hermeticity/sandbox/sandbox.ts';
import { helperPath, NativeTracer } from '../../hermeticity/trace/native.ts';
import { OTHER_FAMILY } from '../../hermeticity/trace/socket-address.ts';
import type { DeclaredAccess } from '../../hermeticity/verdict/declaration.ts';
import type { Finding, FindingKind } from '../../hermeticity/verdict/finding.ts';
import { OTHER_PROCESSES } from '../../hermeticity/verdict/kernel-files.ts';
import { judge, type Verdict } from '../../hermeticity/verdict/verdict.ts';
import { type AbsPath, absPath, inside, isAtOrBelow, relativeIn } from '../../system/paths/absolute-path.ts';
import { actualEnvironment, type ScratchFolders, searchPathOf } from '../action/environment.ts';
import { programPlaces } from '../action/program-folders.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { homeFolder } from '../local-store/store-folder.ts';
import { type Launch, type Launcher, launchDirectly } from '../process/launch.ts';
import type { Report } from '../terminal/events.ts';
import { packageName, textOrEmpty, toolPaths, tracedBy, type Watched } from './trace.ts';
import { isNoTracer, type MaybeWatched, NO_TRACER_WORKS } from './watch.ts';

const WORKSPACE = absPath(SANDBOX.workspace);

/** The path in the sandbox of a file of the workspace or of the machine. */
export function sandboxPath(path: AbsPath, workspace: AbsPath): AbsPath {
  const relative = relativeIn(workspace, path);
  return relative === undefined ? path : inside(WORKSPACE, relative);
}

export function sandboxedLauncher(
  action: KeyedAction,
  report: Report,
): (folders: ScratchFolders) => Launcher<MaybeWatched> {
  return (folders) => async (launch) => {
    await requireSandbox();
    const box = boxFor(action, folders);
    try {
      const inner = { ...launch, argv: programOf(action), env: box.env, cwd: box.cwd };
      const end = await launchIn(box, inner, action, folders, report);
      box.collect();
      return end;
    } finally {
      box.remove();
    }
  };
}

function boxFor(action: KeyedAction, folders: ScratchFolders): Sandboxed {
  const { request, environment, inputs } = action;
  const { workspace, workingDirectory, outputs } = request;
  const bin = folders.bin === undefined ? undefined : SANDBOX.bin;
  return sandboxed({
    workspace,
    inputs: [...inputs.entries().map(({ path }) => path), workingDirectory],
    outputs,
    workingDirectory,
    argv: programOf(action),
    env: actualEnvironment(environment, { ...folders, bin }, programPlaces(request, SANDBOX.workspace)),
    mounts: mountsFor(action, folders),
  });
}

function programOf({ request, tools }: KeyedAction): readonly [string, ...string[]] {
  const { workspace, command } = request;
  return [sandboxPath(absPath(tools[0].file), absPath(workspace)), ...command.slice(1)];
}

async function launchIn(
  box: Sandboxed,
  launch: Launch,
  { request }: KeyedAction,
  folders: ScratchFolders,
  report: Report,
): Promise<MaybeWatched> {
  const unwatched = () => launchDirectly({ ...launch, argv: box.wrap(launch.argv) });
  if (request.hermetic === 'off') return unwatched();
  try {
    return await tracedBy(new NativeTracer(SANDBOX.tracer, box.wrap), 'sandbox')(folders)(launch);
  } catch (error) {
    if (!isNoTracer(error) || request.hermetic === 'strict') throw error;
    report({ type: 'unwatched', why: error.detail, anyCommand: { kept: request.keepUnproven !== 'no' } });
    return { ...(await unwatched()), unwatched: NO_TRACER_WORKS };
  }
}

/**
 * Mounts for tools outside the installed software, each with its installation, and for Assay's own programs.
 */
function mountsFor({ request, tools }: KeyedAction, { bin }: ScratchFolders): Mount[] {
  const workspace = absPath(request.workspace);
  const keepOut = [workspace, absPath(homeFolder())];
  const places = [...new Set(tools.flatMap((tool) => toolPaths(tool, keepOut)))].filter(
    (path) => !isInstalledSoftware(path),
  );
  const outermost = places.filter(
    (path) => !places.some((other) => other !== path && isAtOrBelow(path, other)),
  );
  const helper = absPath(helperPath());
  return [
    ...outermost.map((from) => ({ from, at: sandboxPath(from, workspace) })),
    ...(bin === undefined ? [] : [{ from: absPath(bin), at: absPath(SANDBOX.bin) }]),
    ...(existsSync(helper) ? [{ from: helper, at: absPath(SANDBOX.tracer) }] : []),
  ];
}

/**
 * The kinds of findings that can still occur in a sandbox. It shows no other processes. Its network has no way out, but
 * some families of sockets belong to no network: AF_VSOCK reaches the host of a virtual machine.
 */
const POSSIBLE: ReadonlySet<FindingKind> = new Set(['host', 'time', 'random', 'io_uring', 'survivor']);

function isPossible({ kind, detail }: Finding): boolean {
  if (kind === 'net') return detail?.startsWith(OTHER_FAMILY) === true;
  return POSSIBLE.has(kind) && detail !== OTHER_PROCESSES;
}

type SandboxVerdict = Omit<Verdict, 'hermetic' | 'complete'>;

export function judgeInSandbox(action: KeyedAction, { report, folders }: Watched): SandboxVerdict {
  const mounts = mountsFor(action, folders);
  const { kernelFacts, ...verdict } = judge(report, declarationIn(action, mounts));
  return {
    findings: verdict.findings.filter(isPossible),
    kernelFacts: new Set([...kernelFacts].filter((name) => !isSandboxesOwn(name))),
    libraries: verdict.libraries,
    unkeyed: new Set(),
    // The sandbox holds copies.
    openedInputs: [],
    impliedFolders: [],
    readSet: verdict.readSet.flatMap((look) => {
      const path = machinePath(look.path, mounts);
      // A folder of the sandbox is another one than the machine's.
      const stamps = look.stamps.filter(({ changedAtMs }) => changedAtMs !== undefined);
      return path === undefined ? [] : [{ ...look, path, stamps }];
    }),
    timedReads: [],
    written: new Set(),
    usesNativeCpu: verdict.usesNativeCpu,
    machineFacts: new Set([...verdict.machineFacts].filter((name) => !SANDBOXES_OWN.has(name))),
    searchesAddresses: false,
  };
}

/** Properties of the machine that every sandbox has the same. */
const SANDBOXES_OWN: ReadonlySet<string> = new Set(['addresses', 'families', 'uid']);

/** What a sandbox passes on from its caller. */
const CALLERS: ReadonlySet<string> = new Set(['/proc/self/limits', '/proc/self/status']);

/** The sandbox has its own devices, mounts, control groups, network and host name, and no /sys. */
function isSandboxesOwn(kernelFile: string): boolean {
  if (CALLERS.has(kernelFile)) return false;
  return /^\/(?:dev|sys|proc\/self|proc\/sys\/(?:net|kernel\/(?:host|domain)name))(?:\/|$)/.test(kernelFile);
}

/** Undefined for a path that exists only in the sandbox. */
function machinePath(path: AbsPath, mounts: readonly Mount[]): AbsPath | undefined {
  for (const { from, at } of mounts) {
    const relative = relativeIn(at, path);
    if (relative !== undefined) return inside(from, relative);
  }
  return isInstalledSoftware(path) ? path : undefined;
}

/** Everything in the staged workspace is declared; nothing else can appear there. */
function declarationIn(
  { request, environment, inputs }: KeyedAction,
  mounts: readonly Mount[],
): DeclaredAccess {
  return {
    workspace: WORKSPACE,
    inputs: new Set(inputs.entries().map((entry) => entry.path)),
    covers: () => true,
    growsIn: () => true,
    namesIn: () => [],
    textOf: (path) => textOrEmpty(toSystemPath(request.workspace, path)),
    realPathOf: (text) => absPath(resolve(SANDBOX.workspace, request.workingDirectory, text)),
    packageOf: packageName,
    outputs: request.outputs,
    scratch: [SANDBOX.home, SANDBOX.tmp].map(absPath),
    tools: mounts.map(({ at }) => at),
    searchPath: [...programPlaces(request, SANDBOX.workspace).map(absPath), ...searchPathOf(environment)],
    variables: environment.map(({ value }) => value),
  };
}
