// I5: one commit after another. LMDB's binding never answers a commit that begins after a failed one.
// And what is committed once more after a failure, and what never is.
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

const refusedBy = (code: number) => Object.assign(new Error(`code ${code}`), { code });
const BAD_TXN = -30782;

/** A change that fails with these reasons, one after another, and then succeeds. It counts its commits. */
function failing(...reasons: Error[]) {
  const commits = { count: 0 };
  const change = async () => {
    const reason = reasons[commits.count++];
    if (reason) throw reason;
    return true;
  };
  return { commits, change };
}

test('changes of a commit that LMDB gave up before it wrote anything are committed once more', async () => {
  const { lines, log } = newLog();
  const queue = new CommitQueue(0, async () => void log('repaired'));
  const [first, second] = [failing(refusedBy(BAD_TXN)), failing(refusedBy(BAD_TXN))];
  const answers = [queue.add(first.change), queue.add(second.change)].map(async (answer) => {
    log(`${await answer}`);
  });
  await Promise.all(answers);
  expect(lines).toEqual(['repaired', 'true', 'true']);
  expect([first.commits.count, second.commits.count]).toEqual([2, 2]);
});

test('a commit that is refused twice fails, and the next one is tried', async () => {
  const queue = new CommitQueue(0, async () => {});
  const refused = failing(refusedBy(BAD_TXN), refusedBy(BAD_TXN));
  await expect(queue.add(refused.change)).rejects.toThrow('code -30782');
  expect(refused.commits.count).toBe(2);
  expect(await queue.add(refused.change)).toBe(true);
});

test.each([
  ['the disk is full', refusedBy(28)],
  ['the header could not be written', refusedBy(-30795)],
  ['a page could not be written', refusedBy(5)],
  ['the index is closed', new Error('closed')],
])('what may have been committed is not committed again: %s', async (_, reason) => {
  const queue = new CommitQueue(0, async () => {});
  const [failed, repeated] = [failing(reason), failing(refusedBy(BAD_TXN))];
  const answers = await Promise.allSettled([queue.add(failed.change), queue.add(repeated.change)]);
  expect(answers).toEqual([
    { status: 'rejected', reason },
    { status: 'fulfilled', value: true },
  ]);
  expect([failed.commits.count, repeated.commits.count]).toEqual([1, 2]);
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
