import { defineConfig } from 'vitest/config';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 26)
  throw new Error(
    `the tests need the Node of the project, not ${process.versions.node}: say \`npx vitest run …\` or \`npm test\``,
  );

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/rig/own-environment.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
