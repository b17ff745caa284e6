// The bill of materials of a release, as CycloneDX 1.6: each package whose code is in it, with version, digest and licence.
// Guarantee: the same commit gives the same bytes.
import { createHash } from 'node:crypto';
import { type Component, components, runtimes } from './licences.ts';
import { PROJECT } from './places.ts';

/** `made`: the time of the commit, so that two runs agree. `architectures`: as Node names them. */
export function billOfMaterials(architectures: readonly string[], made: Date): string {
  const parts = [...architectures.flatMap(runtimes), ...components()].map(described);
  const content = {
    metadata: {
      timestamp: made.toISOString(),
      component: {
        type: 'application',
        'bom-ref': `assay@${PROJECT.version}`,
        name: 'assay',
        version: PROJECT.version,
        licenses: [{ license: { id: PROJECT.license } }],
      },
    },
    components: parts,
    dependencies: [{ ref: `assay@${PROJECT.version}`, dependsOn: parts.map((part) => part['bom-ref']) }],
  };
  const head = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
  };
  return `${JSON.stringify({ ...head, ...content }, null, 2)}\n`;
}

function described({ name, version, license, integrity }: Component) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [scope, base] = name.startsWith('@') ? name.split('/') : [undefined, name];
  return {
    type: 'library',
    'bom-ref': purl,
    ...(scope !== undefined && { group: scope }),
    name: base,
    version,
    ...(integrity !== undefined && { hashes: [{ alg: 'SHA-512', content: hexOf(integrity) }] }),
    licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    purl,
  };
}

function hexOf(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}

/** A UUID of version 8, made of a digest. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
