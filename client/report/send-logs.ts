// Sends the end of the logs of failed steps to the remote, before the report that names them.
// A log that cannot be read or sent is left out. The report is sent all the same.
import { LOGS_FORM, RUN_REPORT } from '../../core/metadata/run-report.ts';
import type { Store } from '../../store/store.ts';
import type { Remote } from '../remote/remote.ts';
import { upload } from '../remote/transfer.ts';
import type { StepEnd } from '../view/events.ts';
import { waitMs } from './send.ts';

export async function sendLogs(
  ends: readonly Pick<StepEnd, 'log' | 'exitCode'>[],
  remote: Remote,
  openStore: () => Promise<Store | undefined>,
  elapsedMs: number,
): Promise<void> {
  if (remote.reportForm < LOGS_FORM || !remote.takesWrites) return;
  const logs = ends.flatMap(({ log, exitCode }) => (log && exitCode !== 0 ? [log] : []));
  const store = logs.length > 0 ? await openStore() : undefined;
  if (!store) return;
  const sent = upload(logs.slice(0, RUN_REPORT.maxLogs), store.blobs, remote, () => {});
  const late = new Promise<void>((resolve) => setTimeout(resolve, waitMs(elapsedMs)).unref());
  await Promise.race([sent.then(() => {}).catch(() => {}), late]);
}
