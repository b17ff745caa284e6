// `assay serve` as a process whose output is recorded, for the tests of this folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { baseEnvironment, DEFAULT_FORM, FORMS } from '../../rig/assay.ts';

/** The built package, unless it is older than the sources. */
export const INSTALLED = DEFAULT_FORM === 'bundle' ? FORMS.executable : FORMS.source;

/** A process whose output is recorded; stopped when the test is finished. */
export class Serve {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';

  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    assay: readonly string[] = INSTALLED,
  ) {
    const [program = '', ...before] = assay;
    this.child = spawn(program, [...before, 'serve', ...args], {
      env: { ...baseEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => {
      this.child.kill('SIGKILL');
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
  }

  /** The address that the server prints. */
  async url(): Promise<string> {
    while (!this.stdout.includes('assay run')) await once(this.child.stdout ?? this.child, 'data');
    return /http:\/\/\S+/.exec(this.stdout)?.[0] ?? '';
  }

  /** Waits until standard error contains the text. */
  async said(text: string): Promise<void> {
    while (!this.stderr.includes(text)) await once(this.child.stderr ?? this.child, 'data');
  }

  async ended(): Promise<number | NodeJS.Signals | null> {
    await once(this.child, 'close');
    return this.child.exitCode ?? this.child.signalCode;
  }
}

export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'assay-serve-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
