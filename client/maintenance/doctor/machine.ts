// The machine itself: its clock, its temporary folder, and what watching and shutting in commands needs.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxAvailable } from '../../../hermeticity/sandbox/sandbox.ts';
import { DOCTOR } from '../../limits.ts';
import { chooseTracer } from '../../trace/trace.ts';
import { type Finding, ill, illBecause, notice, well } from './finding.ts';

export async function lookAtMachine(): Promise<Finding[]> {
  return [clockAndFolder(), await tracer(), await sandbox()];
}

/** A file that is written now must not be from another time: inputs are known again by their times. */
function clockAndFolder(): Finding {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'assay-doctor-'));
    try {
      const file = join(folder, 'now');
      writeFileSync(file, '');
      return clock(Math.abs(statSync(file).mtimeMs - Date.now()));
    } finally {
      rmSync(folder, { recursive: true });
    }
  } catch (error) {
    return illBecause('temporary files', error, 'Set TMPDIR to a folder that you may write in.');
  }
}

function clock(skewMs: number): Finding {
  const mend = 'Set this machine’s clock, by NTP if it can be.';
  const now = new Date();
  if (now.getTime() < DOCTOR.earliest) return ill('clock', `it says ${now.toISOString()}`, mend);
  if (skewMs > DOCTOR.skewMs) {
    return notice(
      'clock',
      `files in ${tmpdir()} get times that are ${Math.round(skewMs / 1000)} s off`,
      mend,
    );
  }
  return well('clock', `${now.toISOString()}, and files in ${tmpdir()} get the same time`);
}

async function tracer(): Promise<Finding> {
  try {
    const { name } = await chooseTracer();
    return well('tracer', `${name} works: \`assay audit\` can watch commands`);
  } catch (error) {
    const { detail, mend = '' } = illBecause('tracer', error, '');
    return notice('tracer', `${detail}: \`assay audit\` can not watch commands`, mend);
  }
}

async function sandbox(): Promise<Finding> {
  const trial = await sandboxAvailable();
  if (trial.available) return well('sandbox', 'bubblewrap works: commands can be shut in');
  return notice(
    'sandbox',
    trial.reason,
    'Install bubblewrap and allow user namespaces (sysctl kernel.unprivileged_userns_clone=1).',
  );
}
