// If checkpoints are sealed faster than they are uploaded, the newest is uploaded next.
import { expect, test } from 'vitest';
import { NewestUpload } from '../checkpoint/newest-upload.ts';

/** An upload function whose calls end when the test says so. */
function slowLine() {
  const sent: number[] = [];
  const behind: [number, number][] = [];
  let finish = (_isThere: boolean) => {};
  const uploads = new NewestUpload<string>({
    send(number) {
      sent.push(number);
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
    fellBehind: (...numbers) => behind.push(numbers),
  });
  const end = async (isThere = true) => {
    finish(isThere);
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { uploads, sent, behind, end };
}

test('superseded checkpoints are not uploaded', async () => {
  const { uploads, sent, behind, end } = slowLine();
  for (let number = 1; number <= 9; number++) uploads.offer(number, '');
  expect(sent).toEqual([1]);
  await end();
  expect(sent).toEqual([1, 9]);
  expect(behind[0]).toEqual([3, 0]);
  await end();
  expect(uploads.arrived).toBe(9);
  uploads.offer(10, '');
  expect(sent).toEqual([1, 9, 10]);
});

test('a failed upload does not count as shared', async () => {
  const { uploads, sent, end } = slowLine();
  uploads.offer(1, '');
  await end(false);
  expect(uploads.arrived).toBe(0);
  uploads.offer(2, '');
  await end();
  expect([sent, uploads.arrived]).toEqual([[1, 2], 2]);
});

test('settle waits for the newest upload, up to the time limit', async () => {
  const { uploads, sent, end } = slowLine();
  uploads.offer(1, '');
  await uploads.finish(10);
  uploads.offer(2, '');
  uploads.stop();
  await end();
  expect(sent).toEqual([1]);
  await uploads.finish(60_000);
  expect(uploads.arrived).toBe(1);
});
