// Starts the slow test files first, so that both workers are busy until the end of a run.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of these folders take longest: kills, attacks, whole builds by other tools. */
const SLOW =
  /\/test\/(crash|attack|clients|commands|examples|client\/audit\/real-commands|project\/package)\b/;

/**
 * Vitest's own order (failed ones first, then the slowest of the last run, then the largest), after the slow
 * folders.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.test(moduleId);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}
