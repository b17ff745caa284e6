// Shared by the tests of real tools: the location of the npm tools, and a server that accepts every upload
// and keeps nothing. With that server each test must see no hit.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { TlsIdentity } from '../../server/connection/tls.ts';
import type { Store } from '../../store/store.ts';
import { baseEnvironment, DEFAULT_FORM, type Form, type Ran, runProcess, Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { openMemoryStore } from '../rig/stores/memory/store.ts';
import { testServer } from '../server/rig.ts';

export const TOOLS = join(import.meta.dirname, 'tools', 'node_modules');
export const TOKEN = 'a-long-token-0123456789';
export const MINUTES = 60_000;

export function debianTool(name: string, debianPackage = name): string {
  return found(join('/usr/bin', name), `install the Debian package ${debianPackage}`);
}

export function npmTool(name: string): string {
  return found(join(TOOLS, '.bin', name), 'run scripts/setup-test-tools.sh');
}

function found(path: string, hint: string): string {
  if (!existsSync(path)) throw new Error(`there is no ${path}: ${hint}`);
  return path;
}

/** Removed when the test is finished. */
export function workshop(): Workshop {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  return shop;
}

/** `assay serve` as people run it, with a token. Stopped when the test is finished. */
export async function servedFrom(
  { store }: Workshop,
  form: Form = DEFAULT_FORM,
  args: readonly string[] = [],
): Promise<string> {
  const server = await ServerProcess.start(store, { form, args, env: { ASSAY_TOKEN: TOKEN } });
  onTestFinished(() => server.stop());
  return server.url;
}

/** The same, with a store that accepts PUT and answers every GET with a miss. */
export async function forgetfulServer(tls?: TlsIdentity): Promise<string> {
  const store: Store = openMemoryStore();
  const results = { ...store.results, get: async () => undefined };
  return (await testServer({ token: TOKEN, tls, store: { ...store, results } })).url;
}

/** Files with a certificate for this machine and its key, for tools that require TLS and can trust it. */
export async function certify({ folder }: Workshop): Promise<{ certificate: string; key: string }> {
  const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const request = ['req', '-x509', ...ec, '-keyout', key, '-out', certificate, ...names];
  await run([debianTool('openssl'), ...request], { cwd: folder, home: folder });
  return { certificate, key };
}

export type Variables = Readonly<Record<string, string>>;

/** Passes only PATH of the caller's environment; files that a tool keeps per user go into `home`. */
export async function run(
  command: readonly string[],
  { cwd, home, env = {} }: { readonly cwd: string; readonly home: string; readonly env?: Variables },
): Promise<string> {
  const { PATH } = baseEnvironment();
  const path = `${dirname(process.execPath)}:${PATH}`;
  const ran: Ran = await runProcess(command, { cwd, env: { PATH: path, HOME: home, NO_COLOR: '1', ...env } });
  const said = ran.stdout + ran.stderr;
  if (ran.code !== 0) throw new Error(`${command.join(' ')} ended with ${ran.code}:\n${said}`);
  return said;
}

/** Tools that ask git for changes need a commit to compare with. */
export async function commitAll({ folder, workspace }: Workshop): Promise<void> {
  const git = (...args: readonly string[]) =>
    run([debianTool('git'), ...args], { cwd: workspace, home: folder });
  await git('init', '--quiet');
  await git('add', '--all');
  await git('-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '--quiet', '--message=all');
}
