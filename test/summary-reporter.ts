// Ends a finished run with one plain line, "N passed, N failed", for machines that read no more than that.
//
// What is no test but went wrong (a file that did not load, an error that nobody caught) counts as a failure:
// a run that vitest calls bad must never read as good. A run that was interrupted gets no line.
import type { Reporter, TestModule } from 'vitest/node';

export default class SummaryReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
    reason: 'passed' | 'interrupted' | 'failed',
  ): void {
    if (reason === 'interrupted') return;
    const states = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => test.result().state),
    );
    const passed = states.filter((state) => state === 'passed').length;
    const brokenFiles = modules.flatMap((module) => [...module.errors(), ...suiteErrors(module)]).length;
    const failed = states.filter((state) => state === 'failed').length + brokenFiles + unhandledErrors.length;
    process.stdout.write(`${passed} passed, ${reason === 'failed' ? Math.max(1, failed) : failed} failed\n`);
  }
}

function suiteErrors(module: TestModule): unknown[] {
  return [...module.children.allSuites()].flatMap((suite) => suite.errors());
}
