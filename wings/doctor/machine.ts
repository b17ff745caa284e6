// Checks the machine: clock, temporary folder, tracer and sandbox.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workingTracer } from '../../client/trace/trace.ts';
import { sandboxAvailable } from '../../hermeticity/sandbox/sandbox.ts';
import { type DoctorFinding, ill, illBecause, notice, well } from './finding.ts';
import { DOCTOR } from './limits.ts';

export async function checkMachine(): Promise<DoctorFinding[]> {
  return [clockAndFolder(), await tracer(), await sandbox()];
}

/** A new file must get the current time, because unchanged inputs are recognized by their mtime. */
function clockAndFolder(): DoctorFinding {
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
    return illBecause('temporary files', error, 'Set TMPDIR to a folder that you can write to.');
  }
}

function clock(skewMs: number): DoctorFinding {
  const mend = 'Set this machine’s clock, if possible by NTP.';
  const now = new Date();
  if (now.getTime() < DOCTOR.earliest) return ill('clock', `it shows ${now.toISOString()}`, mend);
  if (skewMs > DOCTOR.skewMs) {
    return notice(
      'clock',
      `files in ${tmpdir()} get mtimes that are ${Math.round(skewMs / 1000)} s off`,
      mend,
    );
  }
  return well('clock', `${now.toISOString()}; files in ${tmpdir()} get the same time`);
}

async function tracer(): Promise<DoctorFinding> {
  try {
    const { name } = await workingTracer();
    return well('tracer', `${name} works: Assay sees what commands access`);
  } catch (error) {
    const { detail, mend = '' } = illBecause('tracer', error, '');
    const unseen = `${detail}: Assay cannot see what commands access, so nothing is kept`;
    return notice('tracer', unseen, `${mend} --keep-unproven=local keeps unproven results.`);
  }
}

async function sandbox(): Promise<DoctorFinding> {
  const trial = await sandboxAvailable();
  if (trial.available) return well('sandbox', 'bubblewrap works: --sandbox can be used');
  return notice(
    'sandbox',
    trial.reason,
    'Install bubblewrap and allow user namespaces (sysctl kernel.unprivileged_userns_clone=1).',
  );
}
