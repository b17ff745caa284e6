// What people see of the commands that they run every day, with a sensible declaration: an audit of at most
// ten lines of 80 columns, and a run with at most three lines about findings.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { baseEnvironment, CLIENT_FORM, FORMS, runProcess, Workshop } from '../../rig/assay.ts';
import { soak } from '../../rig/soak.ts';
import { DEBIAN_PATH, REAL_PROJECTS, type RealProject, writeProject } from './real-projects.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const COLUMNS = 80;
const MINUTES = 60_000;

/** The lines on a terminal of 80 columns, which util-linux's script makes, and the exit code. */
async function onTerminal(...args: readonly string[]): Promise<{ code: number | null; lines: string[] }> {
  const quoted = [...FORMS[CLIENT_FORM], ...args].map((word) => `'${word}'`).join(' ');
  const command = ['script', '-qec', `stty cols ${COLUMNS}; ${quoted}`, '/dev/null'];
  const env = { ...baseEnvironment(), PATH: DEBIAN_PATH, ASSAY_STORE: shop.store, TERM: 'dumb' };
  const { code, stdout } = await runProcess(command, { cwd: shop.workspace, env });
  return { code, lines: stdout.replaceAll('\r', '').trimEnd().split('\n') };
}

/** The report stands after all that the command said. */
async function audit(...flags: readonly string[]): Promise<string[]> {
  const { code, lines } = await onTerminal('audit', ...flags, 'build');
  const start = lines.findLastIndex((line) => /^(?:declared|observed|unproven): /.test(line));
  expect(start, lines.join('\n')).not.toBe(-1);
  const report = lines.slice(start);
  expect(code, report.join('\n')).toBe(report[0]?.startsWith('declared: ') ? 0 : 3);
  return report;
}

function declarationOf({ step }: RealProject): string[] {
  const { command, inputs, outputs = [] } = step;
  const flags = [
    ...inputs.flatMap((one) => ['--input', one]),
    ...outputs.flatMap((one) => ['--output', one]),
  ];
  return [...flags, '--', ...(typeof command === 'string' ? ['sh', '-c', command] : command)];
}

/** Caches, temporary files, and what a run refuses or a person would not write. */
const NEVER_WRITTEN = /__pycache__|\.pyc|_cache|\.eslintcache|tsbuildinfo|node_modules|tmp|assay\.json|^\*+$/;

/** Outside of the soak, the other projects have only their first test. */
const WHOLE = soak(40, 1);

const PROJECTS = Object.entries(REAL_PROJECTS).map(([name, project], index) => ({ name, project, index }));

describe.each(PROJECTS)('$name', ({ project, index }) => {
  beforeEach(() => writeProject(shop, project));

  test(
    'has an audit of at most ten lines, from a fresh clone and from a used one',
    async () => {
      for (const clone of ['fresh', 'used']) {
        const report = await audit();
        expect(report.length, `${clone}\n${report.join('\n')}`).toBeLessThanOrEqual(10);
        expect(report.filter((line) => line.length > COLUMNS)).toEqual([]);
      }
    },
    5 * MINUTES,
  );

  if (index >= WHOLE) return;

  test(
    'has a run with at most three lines about findings',
    async () => {
      const { lines } = await onTerminal('run', ...declarationOf(project));
      const start = lines.findIndex((line) => line.startsWith('assay: '));
      const end = lines.findLastIndex((line) => /^assay: miss [0-9a-f]{12}: /.test(line));
      expect(end, lines.join('\n')).not.toBe(-1);
      const about = lines.slice(start, end).filter((line) => line.startsWith('assay: '));
      expect(about.length, about.join('\n')).toBeLessThanOrEqual(3);
    },
    5 * MINUTES,
  );

  test(
    'is declared by --fix with patterns of a person, and runs with them',
    async () => {
      await audit('--fix');
      const { build } = JSON.parse(readFileSync(join(shop.workspace, 'assay.json'), 'utf8')).steps;
      const { inputs = [], optionalInputs = [], outputs = [] } = build;
      const written: string[] = [...inputs, ...optionalInputs, ...outputs];
      expect(written.filter((one) => NEVER_WRITTEN.test(one))).toEqual([]);
      const ran = await shop.assay(['run', 'build'], { env: { PATH: DEBIAN_PATH } });
      expect(ran.code, ran.stderr).toBe(0);
    },
    5 * MINUTES,
  );
});
