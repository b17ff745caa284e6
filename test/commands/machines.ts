// Machines that share one server: each has a store of its own and a clone of the project.
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type RanWithSummary, runProcess, Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import type { Row } from './rows.ts';

/** Installed by scripts/setup-test-tools.sh. */
const TOOLS = join(import.meta.dirname, 'tools/node_modules');

export class Machines {
  readonly shop: Workshop;
  readonly #server: ServerProcess;
  readonly #row: Row;
  #installed: string | undefined;

  private constructor(server: ServerProcess, shop: Workshop, row: Row) {
    this.#server = server;
    this.shop = shop;
    this.#row = row;
  }

  static async start(row: Row): Promise<Machines> {
    const shop = new Workshop();
    return new Machines(await ServerProcess.start(join(shop.folder, 'served')), shop, row);
  }

  async end(): Promise<void> {
    await this.#server.stop();
    this.shop.remove();
  }

  /** A fresh clone at `path`, which replaces what was there. */
  clone(path: string): string {
    const folder = join(this.shop.folder, path);
    this.#keepInstalled();
    rmSync(folder, { recursive: true, force: true });
    for (const [name, content] of Object.entries(this.#row.files)) {
      const isProgram = content.startsWith('#!');
      this.shop.write(name, content, isProgram ? 0o755 : 0o644, folder);
    }
    if (this.#row.hasNodeModules) this.#install(folder);
    return folder;
  }

  /** One installation is moved from clone to clone: copying it would take most of the time. */
  #install(folder: string): void {
    const to = join(folder, 'node_modules');
    if (this.#installed === undefined) execFileSync('cp', ['-al', TOOLS, to]);
    else renameSync(this.#installed, to);
    this.#installed = to;
    for (const cache of ['.cache', '.vite', '.vite-temp', '.vitest', '.vitest-cache'])
      rmSync(join(to, cache), { recursive: true, force: true });
  }

  #keepInstalled(): void {
    if (this.#installed === undefined) return;
    const aside = join(this.shop.folder, 'installed');
    if (this.#installed !== aside) renameSync(this.#installed, aside);
    this.#installed = aside;
  }

  /** Runs the row's command under Assay, on the machine `name`. */
  run(name: string, folder: string): Promise<RanWithSummary> {
    const { declared, command } = this.#row;
    const store = join(this.shop.folder, `store-${name}`);
    const flags = ['--store', store, '--remote', this.#server.url, ...declared];
    return this.shop.run([...flags, '--', ...command], { cwd: folder });
  }

  /** What a person sees. */
  async said(name: string, folder: string): Promise<string[]> {
    const { declared, command } = this.#row;
    const store = join(this.shop.folder, `store-${name}`);
    const flags = ['--store', store, '--remote', this.#server.url, ...declared];
    const { stderr } = await this.shop.assay(['run', ...flags, '--', ...command], { cwd: folder });
    return stderr.split('\n').filter((line) => line.startsWith('assay: '));
  }

  /** Runs the command by hand, so that its caches and outputs lie in the clone. */
  async use(folder: string): Promise<void> {
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME: join(this.shop.folder, 'home'), ...this.#row.byHand };
    const ran = await runProcess(this.#row.command, { cwd: folder, env: { ...env, REAL_HOME: HOME } });
    if (ran.code !== 0) throw new Error(`by hand it failed with ${ran.code}: ${ran.stdout}${ran.stderr}`);
  }
}
