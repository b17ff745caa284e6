// Makes a release of everything that people install, for x64 and arm64, in dist/release (`npm run release`).
//
// SHA256SUMS lists the files, sbom.json what is in them, and SHA256SUMS.sig is the signature. The private key comes
// from the file that ASSAY_RELEASE_KEY names. Without that variable the release is unsigned.
//
// Two runs of one commit in one folder give the same bytes. That was compared for every file, from two clean clones.
// The executable holds the path of that folder.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { progress } from '../progress.ts';
import { signChecksums, writeChecksums } from './checksums.ts';
import { buildDebs } from './deb.ts';
import { KINDS } from './kinds.ts';
import { packChooser, packClient, packServer } from './npm.ts';
import { buildImage } from './oci.ts';
import { partsFor } from './parts.ts';
import { DIST, RELEASE, ROOT } from './places.ts';
import { billOfMaterials } from './sbom.ts';
import { tryParts } from './trial.ts';

const STAGED = `${RELEASE}.partial`;

function commitTime(): Date {
  const seconds = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' });
  return new Date(Number(seconds) * 1000);
}

rmSync(STAGED, { recursive: true, force: true });
mkdirSync(STAGED, { recursive: true });
for (const script of ['build', 'docs']) {
  progress(`npm run ${script}`);
  execFileSync(process.execPath, ['--run', script], { cwd: ROOT, stdio: ['ignore', 2, 2] });
}
const made = commitTime();
for (const kind of KINDS) {
  const parts = { ...partsFor(kind), docs: join(DIST, 'docs') };
  progress(`trying the programs for ${kind.arch}`);
  await tryParts(parts);
  packClient(parts, STAGED);
  packServer(parts, STAGED);
  buildDebs(parts, STAGED, made);
  buildImage(parts, STAGED, made);
}
const architectures = KINDS.map(({ arch }) => arch);
packChooser(architectures, STAGED);
writeFileSync(join(STAGED, 'sbom.json'), billOfMaterials(architectures, made));
progress('checksums');
writeChecksums(STAGED);
const key = process.env.ASSAY_RELEASE_KEY;
if (key === undefined || key === '') progress('NOT SIGNED: ASSAY_RELEASE_KEY names no private key');
else signChecksums(STAGED, key);
rmSync(RELEASE, { recursive: true, force: true });
renameSync(STAGED, RELEASE);
progress(`made ${RELEASE}`);
