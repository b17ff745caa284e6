// What an installation holds that others have made: names, versions, digests, licences and their texts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bunPackage } from '../executable.ts';
import { locked } from './locked.ts';
import { DIST, ROOT } from './places.ts';

export interface Component {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** As package-lock.json has it: sha512- and base64. */
  readonly integrity?: string;
}

/** The npm packages in the bundles, and the runtimes. The runtimes of both architectures have the same version. */
export function components(): Component[] {
  const bundled: readonly string[] = JSON.parse(readFileSync(join(DIST, 'packages.json'), 'utf8'));
  return bundled.map(component);
}

export function runtimes(arch: string): Component[] {
  return [`node-linux-${arch}`, bunPackage(arch)].map(component);
}

function component(name: string): Component {
  const { version, license = 'NOASSERTION', integrity } = locked(name);
  return { name, version, license, ...(integrity !== undefined && { integrity }) };
}

const BUN_LICENCE = `Bun is under the MIT licence. It links JavaScriptCore under the LGPL-2 and other libraries;
the documentation of Bun, at https://bun.com, names them with their sources.`;

/** The notices of the bundled packages. Node's own licence lies beside Node. */
export function notices(arch: string): string {
  const [, bun] = runtimes(arch);
  const bundled = components().map(({ name, version, license }) =>
    [`${name} ${version} (${license})`, '', licenceText(name)].join('\n'),
  );
  const about = 'Assay holds the following packages, each under its own licence.';
  return `${[about, `Bun ${bun?.version}\n\n${BUN_LICENCE}`, ...bundled].join(`\n\n${'-'.repeat(78)}\n\n`)}\n`;
}

function licenceText(name: string): string {
  const folder = join(ROOT, 'node_modules', name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined || !existsSync(join(folder, file)))
    return 'The package brings no text of its licence.';
  return readFileSync(join(folder, file), 'utf8').trim();
}
