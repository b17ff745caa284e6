// Reports of runs for tests.
import { randomUUID } from 'node:crypto';
import type { ReportedStep, RunReport } from '../../../core/metadata/run-report-schema.ts';

export function step(name: string, more: Partial<ReportedStep> = {}): ReportedStep {
  return {
    step: name,
    outcome: 'hit-remote',
    why: 'found at the remote',
    exitCode: 0,
    startMs: 0,
    elapsedMs: 10,
    commandMs: 1000,
    waitedMs: 0,
    needs: [],
    findings: [],
    moreFindings: 0,
    bytesUp: 0,
    bytesDown: 0,
    variables: [],
    ...more,
  };
}

export function miss(name: string, cause: ReportedStep['cause'], commandMs: number): ReportedStep {
  return step(name, {
    outcome: 'miss',
    why: 'why',
    ...(cause && { cause }),
    commandMs,
    elapsedMs: commandMs + 5,
  });
}

export function reportOf(steps: readonly ReportedStep[], more: Partial<RunReport> = {}): RunReport {
  return {
    version: 1,
    id: randomUUID().replaceAll('-', ''),
    assay: '0.2.0',
    startedAt: new Date().toISOString(),
    elapsedMs: 1500,
    jobs: 2,
    exitCode: 0,
    isInterrupted: false,
    repository: 'github.com/acme/app',
    branch: 'main',
    commit: '1'.repeat(40),
    bytesUp: 10,
    bytesDown: 20,
    warnings: [],
    steps,
    ...more,
  };
}
