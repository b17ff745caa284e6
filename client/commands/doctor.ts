// `assay doctor`: one page about what is wrong with a set-up, and how to mend it.
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import type { Finding } from '../maintenance/doctor/finding.ts';
import { lookAtMachine } from '../maintenance/doctor/machine.ts';
import { lookAtRemote } from '../maintenance/doctor/remote.ts';
import { lookAtStore } from '../maintenance/doctor/store.ts';
import { type Colour, colourFor } from '../terminal/colour.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { STORE_FLAGS } from './store-flags.ts';

const ILL = 3;

const flags = {
  store: STORE_FLAGS.store,
  remote: { type: 'string', value: 'URL', text: 'the shared cache (default: ASSAY_REMOTE)' },
  json: STORE_FLAGS.json,
} satisfies FlagTable;

export const doctorCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay doctor [FLAGS]',
    text: [
      'Looks at everything that Assay stands on, here and now: the store’s rights, whether it works, its disk, the clock,',
      'the tracer, the sandbox, the remote. Says what is wrong and how to mend it. Puts one small blob into the store,',
      'to see it come back; changes nothing else.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token',
    },
    exitCodes: { '0': 'nothing has to be mended', '3': 'something does not work; each has its way out' },
    examples: ['assay doctor', 'assay doctor --remote https://cache.example:8980', 'assay doctor --json'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0)
      throw usage(`doctor takes no ${JSON.stringify(parsed.positionals[0])}`);
    const findings = [
      ...(await lookAtStore(storeFolder(parsed.text('store'), process.env))),
      ...(await lookAtMachine()),
      ...(await lookAtRemote(parsed.text('remote') ?? process.env.ASSAY_REMOTE, process.env.ASSAY_TOKEN)),
    ];
    const isIll = findings.some(({ state }) => state === 'ill');
    const stdout = new SyncStream(1);
    stdout.write(
      parsed.given('json')
        ? `${JSON.stringify({ healthy: !isIll, findings })}\n`
        : page(findings, colourFor(stdout.isTTY, process.env)),
    );
    return isIll ? ILL : 0;
  },
};

const SIGNS = { well: ['green', 'ok  '], notice: ['yellow', 'note'], ill: ['red', 'ILL '] } as const;

function page(findings: readonly Finding[], colour: Colour): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap(({ subject, state, detail, mend }) => {
    const [hue, sign] = SIGNS[state];
    const line = `${colour(hue, sign)}  ${subject.padEnd(width)}  ${detail}`;
    return mend === undefined ? [line] : [line, `${' '.repeat(width + 8)}-> ${mend}`];
  });
  return `${lines.join('\n')}\n`;
}
