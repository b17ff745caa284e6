import { globSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { sortTests } from './test/project/test-kinds.ts';
import { SlowestFirst } from './test/slowest-first.ts';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 26)
  throw new Error(
    `the tests need the Node of the project, not ${process.versions.node}: say \`npx vitest run …\` or \`npm test\``,
  );

const { unit, server, e2e } = sortTests();

export default defineConfig({
  test: {
    projects: [
      // Unit and server tests share their worker: without a process and its imports for each file they take half the
      // CPU time.
      { extends: true, test: { name: 'unit', include: [...unit], isolate: false } },
      { extends: true, test: { name: 'server', include: [...server], isolate: false } },
      { extends: true, test: { name: 'e2e', include: [...e2e] } },
    ],
    globalSetup: globSync('wings/*/test/rig/global-setup.ts', { cwd: import.meta.dirname }),
    setupFiles: ['test/rig/own-environment.ts'],
    sequence: { sequencer: SlowestFirst },
    // These end only a test that hangs. A machine with ten times as much work as cores takes a minute for seconds.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 90_000 } },
    // Many tests wait for processes and for times to pass: three workers leave more than a quarter of two cores idle.
    maxWorkers: 4,
    coverage: {
      include: ['client', 'core', 'hermeticity', 'server', 'store', 'system', 'wings'].map(
        (room) => `${room}/**/*.ts`,
      ),
      exclude: ['core/proto/generated/**', 'wings/*/test/**', 'wings/*/bench/**'],
      reporter: ['text-summary', 'html'],
      reportsDirectory: 'dist/coverage',
    },
  },
});
