// The verdict: accesses × declaration × policy → findings and facts. A pure function. It replays the accesses in order
// and tracks the files that the action created itself.
// Findings (what to tell) and facts (what a hit compares) are two outputs of one pass; neither depends on the other.

import type { RelPath } from '../../core/path.ts';
import { type AbsPath, displayPath, readable } from '../../system/paths/absolute-path.ts';
import type { Access, FileStamp, PathAccess, TraceReport } from '../trace/access.ts';
import { Declared, type DeclaredAccess } from './declaration.ts';
import { Facts } from './facts.ts';
import { type TimedRead, TimedReads } from './file-times.ts';
import type { Finding } from './finding.ts';
import { ChangeJudge } from './judge-changes.ts';
import { QuestionJudge } from './judge-questions.ts';
import { ReadJudge } from './judge-reads.ts';
import { SocketJudge } from './judge-sockets.ts';
import { librariesIn } from './libraries.ts';
import { usesNativeCpu } from './native-cpu.ts';
import { DEFAULT_POLICY, type Policy } from './policy.ts';
import type { ReadSetEntry } from './read-set.ts';
import { type Suspicion, unexplained } from './suspicion.ts';
import { VerdictState } from './verdict-state.ts';

export interface Verdict {
  /** No findings, and the trace is complete. */
  readonly hermetic: boolean;
  readonly complete: boolean;
  /** In order of first occurrence. */
  readonly findings: readonly Finding[];
  /** The facts: what the result depends on beyond the declared inputs. */
  readonly readSet: readonly ReadSetEntry[];
  /** Files that a pattern covers, that came after the key was made, and that the action used. */
  readonly unkeyed: ReadonlySet<AbsPath>;
  /** What the action found at declared inputs. */
  readonly openedInputs: readonly (readonly [path: RelPath, stamp: FileStamp])[];
  /** What it found at folders of inputs. */
  readonly impliedFolders: readonly (readonly [path: AbsPath, stamp: FileStamp])[];
  /** The kernel files that the result depends on, by the names of kernel-files.ts. */
  readonly kernelFacts: ReadonlySet<string>;
  /** The properties of the machine that the action asked for, by the names of client/path-sets/machine.ts. */
  readonly machineFacts: ReadonlySet<string>;
  /** An address of the machine in an output is a fact. */
  readonly searchesAddresses: boolean;
  /** The libraries that the dynamic loader may have looked up in its cache. */
  readonly libraries: ReadonlySet<string>;
  /**
   * Files of the workspace that a tool may compare by mtime; no outputs and none of the action's own files.
   */
  readonly timedReads: readonly TimedRead[];
  /** Every path that the action wrote, even if renamed later. */
  readonly written: ReadonlySet<AbsPath>;
  /** A compiler was asked for code that fits this machine's CPU. */
  readonly usesNativeCpu: boolean;
}

export function judge(
  report: TraceReport,
  declaration: DeclaredAccess,
  policy: Policy = DEFAULT_POLICY,
): Verdict {
  const state = new VerdictState(report, new Declared(declaration), policy);
  const judgement = new ReadJudge(state);
  const facts = new Facts(state);
  const timed = new TimedReads(state);
  const look = (access: PathAccess) => {
    const place = state.locationOf(access.path);
    facts.note(access, place);
    timed.note(access, place);
    judgement.judge(access, place);
  };
  const changes = new ChangeJudge(state, { look, found: (path) => facts.readSet.found(path) });
  const sockets = new SocketJudge(state);
  const questions = new QuestionJudge(state);
  for (const access of report.accesses) {
    if (access.kind === 'write') facts.noteMade(access, state.locationOf(access.path));
    judgeAccess(access, look, changes, sockets, questions);
  }
  changes.suspectEscapes();
  questions.end();
  const findings = [
    ...unexplained(state.suspicions).map((one) => findingOf(one, state)),
    ...survivors(report),
  ];
  return {
    hermetic: report.complete && findings.length === 0,
    complete: report.complete,
    findings,
    readSet: facts.readSet.entries(),
    unkeyed: facts.unkeyed,
    openedInputs: facts.openedInputs,
    impliedFolders: facts.impliedFolders,
    kernelFacts: facts.kernelFiles,
    machineFacts: questions.facts,
    searchesAddresses: questions.searchesAddresses,
    libraries: librariesIn(report.accesses),
    timedReads: timed.all,
    written: state.own.written,
    usesNativeCpu: usesNativeCpu(report, declaration),
  };
}

function judgeAccess(
  access: Access,
  look: (access: PathAccess) => void,
  changes: ChangeJudge,
  sockets: SocketJudge,
  questions: QuestionJudge,
): void {
  switch (access.kind) {
    case 'write':
      changes.written(access);
      break;
    case 'delete':
      changes.deleted(access, access.path);
      break;
    case 'rename':
    case 'hardlink':
      changes.paired(access);
      break;
    case 'symlink':
      changes.linked(access);
      break;
    case 'bind':
      sockets.bound(access);
      break;
    case 'connect':
      sockets.connected(access);
      break;
    case 'io_uring':
      sockets.ring(access);
      break;
    case 'asked':
      questions.asked(access);
      break;
    default:
      look(access);
  }
}

function findingOf({ kind, access, path, detail, fix }: Suspicion, scene: VerdictState): Finding {
  const process = scene.report.processes[access.process]?.argv.map(readable);
  return {
    kind,
    ...(path !== undefined && { path: displayPath(path, scene.declared.workspace) }),
    ...(detail !== undefined && { detail }),
    ...(process && { process }),
    atMs: access.atMs,
    ...(fix && { fix }),
  };
}

function survivors(report: TraceReport): Finding[] {
  return report.processes
    .filter(({ survived }) => survived)
    .map(({ argv, atMs, pid }) => ({
      kind: 'survivor',
      detail: `process ${pid} outlived the command and was killed`,
      process: argv.map(readable),
      atMs,
    }));
}
