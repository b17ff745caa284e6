// `assay doctor`: checks an installation, and says how to fix what does not work.

import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { remoteToken } from '../../client/remote/token.ts';
import { type Colour, colourFor } from '../../client/terminal/colour.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';
import { wrapLine } from '../../core/cli/layout.ts';
import type { DoctorFinding } from './finding.ts';
import { checkMachine } from './machine.ts';
import { checkRemote } from './remote.ts';
import { checkServer } from './server.ts';
import { checkStore } from './store.ts';

const ILL = 3;

const flags = {
  store: STORE_FLAGS.store,
  server: {
    type: 'string',
    value: 'URL',
    text: 'check this server instead of this machine, as its clients meet it',
  },
  remote: { type: 'string', value: 'URL', text: 'the shared cache (default: ASSAY_REMOTE)' },
  json: STORE_FLAGS.json,
} satisfies FlagTable;

export const doctorCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay doctor [FLAGS]',
    text: [
      'Checks everything that Assay needs on this machine: the permissions of the store, a write and a read,',
      'its disk, the clock, the tracer, the sandbox, the remote, and which namespace and rights the token has.',
      'For each problem it says what to do. It writes one small blob to the store and changes nothing else.',
      'With --server it checks a server instead: version, readiness, clock, gRPC through the proxy, access without a token, the token, and, if',
      'that has the right server:stats, the size of the store and damage. It writes nothing there.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token',
    },
    exitCodes: { '0': 'everything works', '3': 'something does not work; the report says what to do' },
    examples: [
      'assay doctor',
      'assay doctor --remote https://cache.example:8980',
      'assay doctor --json',
      'assay doctor --server https://cache.example',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay doctor takes no arguments');
    const server = parsed.text('server');
    if (server !== undefined && (parsed.given('store') || parsed.given('remote')))
      throw usage('--server checks a server alone: give no --store and no --remote');
    const findings =
      server === undefined ? await checkHere(parsed) : await checkServer(server, remoteToken());
    const isIll = findings.some(({ state }) => state === 'ill');
    const stdout = new SyncStream(1);
    stdout.write(
      parsed.given('json')
        ? `${JSON.stringify({ healthy: !isIll, findings })}\n`
        : page(findings, colourFor(stdout.isTTY, process.env), stdout.columns),
    );
    return isIll ? ILL : 0;
  },
};

async function checkHere(flags: ParsedFlags): Promise<DoctorFinding[]> {
  return [
    ...(await checkStore(storeFolder(flags.text('store'), process.env))),
    ...(await checkMachine()),
    ...(await checkRemote(flags.text('remote') ?? process.env.ASSAY_REMOTE, remoteToken())),
  ];
}

const SIGNS = { well: ['green', 'ok  '], notice: ['yellow', 'note'], ill: ['red', 'FAIL'] } as const;

function page(findings: readonly DoctorFinding[], colour: Colour, columns: number): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const indent = ' '.repeat(width + 8);
  const lines = findings.flatMap(({ subject, state, detail, mend }) => {
    const [hue, sign] = SIGNS[state];
    const line = wrapLine(`${colour(hue, sign)}  ${subject.padEnd(width)}  ${detail}`, columns, indent);
    return mend === undefined ? [line] : [line, wrapLine(`${indent}-> ${mend}`, columns, `${indent}   `)];
  });
  return `${lines.join('\n')}\n`;
}
