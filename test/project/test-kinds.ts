// Sorts the test files into two kinds by what they import, directly or through others. A unit test starts no
// process, so it reaches no node:child_process and no playwright-core, and has no rounds that scale, so it does not reach
// test/rig/soak.ts. Every other test is an end-to-end test.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Import, importsOf, ROOT, sourcesOf } from './sources.ts';

const STARTS_PROCESSES = new Set(['node:child_process', 'playwright-core']);
const SCALES = 'test/rig/soak.ts';

export interface TestKinds {
  readonly unit: readonly string[];
  readonly e2e: readonly string[];
}

export function sortTests(): TestKinds {
  const tests = testFiles();
  const reach = new Reach();
  const e2e = tests.filter(
    (file) => !reach.specifiersOf(file).isDisjointFrom(STARTS_PROCESSES) || reach.filesOf(file).has(SCALES),
  );
  return { unit: tests.filter((file) => !e2e.includes(file)), e2e };
}

export function testFiles(): string[] {
  return ['test', 'wings'].flatMap(sourcesOf).filter((file) => file.endsWith('.test.ts'));
}

/** What a file imports, directly and through other sources. Types do not count: they vanish at run time. */
export class Reach {
  readonly #imports = new Map<string, readonly Import[]>();

  filesOf(file: string): Set<string> {
    const seen = new Set([file]);
    for (const one of seen)
      for (const { target = '' } of this.#of(one)) if (isSource(target)) seen.add(target);
    return seen;
  }

  specifiersOf(file: string): Set<string> {
    const files = [...this.filesOf(file)];
    return new Set(files.flatMap((one) => this.#of(one).map(({ specifier }) => specifier)));
  }

  #of(file: string): readonly Import[] {
    const known = this.#imports.get(file) ?? importsOf(file).filter(({ kind }) => kind !== 'type');
    this.#imports.set(file, known);
    return known;
  }
}

/** A text that reads like an import of no file is not one. */
function isSource(file: string): boolean {
  return file.endsWith('.ts') && existsSync(join(ROOT, file));
}
