// One small action of the corpus: its files, its declaration, its command, and the expected findings.
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { matchesGlob, resolve } from 'node:path';
import { nameFromBytes, type RelPath, relPathFromUser } from '../../../../core/path.ts';
import type { Tracer } from '../../../../hermeticity/trace/tracer.ts';
import type { DeclaredAccess } from '../../../../hermeticity/verdict/declaration.ts';
import type { Finding } from '../../../../hermeticity/verdict/finding.ts';
import { judge, type Verdict } from '../../../../hermeticity/verdict/verdict.ts';
import { type AbsPath, absPath, inside } from '../../../../system/paths/absolute-path.ts';
import { Folder, PROJECT } from '../../rig.ts';

export interface Case {
  readonly name: string;
  /** Files of the workspace by path; "../x" is beside it. A text "-> x" is a link to x. */
  readonly files?: Readonly<Record<string, string>>;
  readonly inputs?: readonly string[];
  readonly optional?: readonly string[];
  readonly outputs?: readonly string[];
  readonly command: readonly [string, ...string[]];
  /** Besides PATH, HOME, TMPDIR, TZ and LC_ALL. An empty text removes one of these. */
  readonly env?: Readonly<Record<string, string>>;
  /** A unix socket, relative to the workspace, on which the test listens. */
  readonly socket?: string;
  /** "kind path", or "kind detail" without a path; empty for a hermetic action. */
  readonly finds: readonly string[];
}

export const NODE = `${PROJECT}/node_modules/.bin/node`;
export const TSC = `${PROJECT}/node_modules/.bin/tsc`;

export function sh(script: string): [string, ...string[]] {
  return ['sh', '-c', script];
}

export function python(script: string): [string, ...string[]] {
  return ['/usr/bin/python3', '-I', '-c', script];
}

/** An action laid out on disk, ready to run. */
export class StagedCase {
  readonly #around = new Folder();
  readonly workspace: AbsPath = this.#around.at('workspace');
  readonly #case: Case;
  readonly #tools: readonly AbsPath[];
  #server: Server | undefined;

  constructor(one: Case, tools: readonly AbsPath[]) {
    this.#case = one;
    this.#tools = tools;
    for (const folder of ['workspace', 'home', 'tmp']) mkdirSync(this.#around.at(folder));
    for (const [path, content] of Object.entries(one.files ?? {})) this.#lay(path, content);
  }

  async run(tracer: Tracer): Promise<{ verdict: Verdict; exitCode: number | undefined; said: string }> {
    const declaration = this.#declaration();
    await this.#listen();
    let said = '';
    const report = await tracer.run({
      argv: this.#case.command,
      cwd: this.workspace,
      env: this.#environment(),
      output: (_, chunk) => {
        said += chunk.toString();
      },
      lingerMs: 300,
    });
    const exitCode = 'code' in report.exit ? report.exit.code : undefined;
    return { verdict: judge(report, declaration), exitCode, said };
  }

  remove(): void {
    this.#server?.close();
    this.#around.remove();
  }

  #lay(path: string, content: string): void {
    if (content.startsWith('-> ')) symlinkSync(content.slice(3), this.#around.at(`workspace/${path}`));
    else if (path.endsWith('/')) mkdirSync(this.#around.at(`workspace/${path}`), { recursive: true });
    else this.#around.write(`workspace/${path}`, content);
  }

  #environment(): Record<string, string> {
    const base = {
      PATH: [...this.#tools, '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      HOME: this.#around.at('home'),
      TMPDIR: this.#around.at('tmp'),
      TZ: 'UTC',
      LC_ALL: 'C.UTF-8',
    };
    return Object.fromEntries(
      Object.entries({ ...base, ...this.#case.env }).filter(([, value]) => value !== ''),
    );
  }

  async #listen(): Promise<void> {
    if (this.#case.socket === undefined) return;
    const server = createServer().listen(this.#around.at(`workspace/${this.#case.socket}`));
    this.#server = server;
    await new Promise((listening) => server.once('listening', listening));
  }

  /** The declaration that a client makes of the flags, with globs as simple as the corpus needs. */
  #declaration(): DeclaredAccess {
    const patterns = this.#case.inputs ?? [];
    const all = [...patterns, ...(this.#case.optional ?? [])];
    const covers = (path: RelPath) => all.some((pattern) => matchesGlob(path, pattern));
    return {
      workspace: this.workspace,
      inputs: new Set(namesBelow(this.workspace, '').filter(covers)),
      covers,
      growsIn: (folder) =>
        all.some(
          (pattern) => /[*?]/.test(pattern) && matchesGlob(childOf(folder, sampleOf(pattern)), pattern),
        ),
      namesIn: (folder) => readNames(inside(this.workspace, folder)),
      textOf: (path) => readFileSync(inside(this.workspace, path), 'utf8'),
      realPathOf: (text) => absPath(resolve(this.workspace, text)),
      packageOf: () => undefined,
      outputs: (this.#case.outputs ?? []).map(relPathFromUser),
      scratch: [this.#around.at('home'), this.#around.at('tmp')],
      tools: this.#tools,
      searchPath: [...this.#tools, ...['/usr/local/bin', '/usr/bin', '/bin'].map(absPath)],
    };
  }
}

/** A name that the last part of a pattern matches. */
function sampleOf(pattern: string): string {
  return (pattern.split('/').at(-1) ?? '').replaceAll('**', 'new').replaceAll(/[*?]/g, 'n');
}

function childOf(folder: RelPath, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

function readNames(folder: AbsPath): string[] {
  return readdirSync(folder, { encoding: 'buffer' }).map(nameFromBytes);
}

function namesBelow(root: AbsPath, at: string): RelPath[] {
  const entries = readdirSync(inside(root, at as RelPath), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = childOf(at as RelPath, entry.name) as RelPath;
    return entry.isDirectory() ? [path, ...namesBelow(root, path)] : [path];
  });
}

export function lineOf(finding: Finding): string {
  return `${finding.kind} ${finding.path ?? finding.detail ?? ''}`.trim();
}
