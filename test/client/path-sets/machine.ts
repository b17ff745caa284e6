// Another machine: a mount namespace in which some files of the system have other content. It needs root, or
// user namespaces.

import { type Ran, type RanWithSummary, summaryOf, type Workshop } from '../../rig/assay.ts';
import { inNamespaces } from '../../rig/users.ts';

export class Machine {
  readonly #wrapper: readonly string[];

  /** By the path on the machine: the file that is seen there. */
  constructor(files: Readonly<Record<string, string>>) {
    const pairs = Object.entries(files).flatMap(([at, file]) => [file, at]);
    const mount = 'while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"';
    this.#wrapper = [...inNamespaces('--mount'), 'sh', '-ec', mount, 'sh', ...pairs, '--'];
  }

  assay(shop: Workshop, args: readonly string[]): Promise<Ran> {
    return shop.assayIn(this.#wrapper, args);
  }

  async run(shop: Workshop, args: readonly string[]): Promise<RanWithSummary> {
    const ran = await this.assay(shop, ['run', '--json', ...args]);
    return { ...ran, summary: summaryOf(ran) };
  }
}
