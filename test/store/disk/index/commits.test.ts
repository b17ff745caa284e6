// I5: one commit after another. LMDB's binding never answers a commit that begins after a failed one.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CommitQueue } from '../../../../store/disk/index/commits.ts';

/** A change whose commit the test ends. */
class Change {
  readonly #ended = Promise.withResolvers<boolean>();
  readonly begun = Promise.withResolvers<void>();

  readonly begin = (): Promise<boolean> => {
    this.begun.resolve();
    return this.#ended.promise;
  };

  succeed(isDone: boolean): void {
    this.#ended.resolve(isDone);
  }

  fail(reason: Error): void {
    this.#ended.reject(reason);
  }
}

const newLog = () => {
  const lines: string[] = [];
  return { lines, log: (text: string) => lines.push(text) };
};

test('I5: changes of one turn share a commit, and later changes wait for it', async () => {
  const commits = new CommitQueue(0, async () => {});
  const [first, second, late] = [new Change(), new Change(), new Change()];
  const answers = [commits.add(first.begin), commits.add(second.begin)];
  await Promise.all([first.begun.promise, second.begun.promise]);

  const { lines, log } = newLog();
  const lateAnswer = commits.add(() => {
    log('late begins');
    return late.begin();
  });
  first.succeed(true);
  await answers[0];
  await sleep(5);
  expect(lines).toEqual([]);
  second.succeed(false);
  expect(await answers[1]).toBe(false);
  await late.begun.promise;
  late.succeed(true);
  expect(await lateAnswer).toBe(true);
});

test('I5: after a failure nothing begins, and nothing is rejected, before the repair', async () => {
  const { lines, log } = newLog();
  const repaired = Promise.withResolvers<void>();
  const commits = new CommitQueue(0, () => {
    log('repairing');
    return repaired.promise.then(() => void log('repaired'));
  });
  const failing = new Change();
  const failed = commits.add(failing.begin).catch((error: Error) => void log(error.message));
  await failing.begun.promise;
  const next = commits.add(async () => {
    log('next begins');
    return true;
  });

  failing.fail(new Error('no room'));
  await sleep(5);
  expect(lines).toEqual(['repairing']);
  repaired.resolve();
  await failed;
  expect(await next).toBe(true);
  expect(lines).toEqual(['repairing', 'repaired', 'no room', 'next begins']);
});

test('the reason is that of the commit, and a change that throws does not affect others', async () => {
  const commits = new CommitQueue(1, async () => {});
  const fail = () =>
    Promise.reject(
      Object.assign(new Error('see commitError'), {
        commitError: Promise.reject(new Error('the disk lines so')),
      }),
    );
  const answers = await Promise.allSettled([
    commits.add(fail),
    commits.add(() => {
      throw new Error('closed');
    }),
    commits.add(async () => true),
  ]);
  expect(answers).toEqual([
    { status: 'rejected', reason: new Error('the disk lines so') },
    { status: 'rejected', reason: new Error('closed') },
    { status: 'fulfilled', value: true },
  ]);
});

test('it is idle when no change is pending', async () => {
  const commits = new CommitQueue(0, async () => {});
  await commits.idle();
  const change = new Change();
  const answer = commits.add(change.begin);
  const { lines, log } = newLog();
  const ended = commits.idle().then(() => log('idle'));
  await change.begun.promise;
  const last = commits.add(async () => {
    log('last');
    return true;
  });
  change.succeed(true);
  await Promise.all([answer, last, ended]);
  expect(lines).toEqual(['last', 'idle']);
});
