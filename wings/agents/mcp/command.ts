// `assay mcp`: the tools of Assay for a coding agent, by the Model Context Protocol over standard input and output.
// Guarantee: an agent names declared steps, run ids and numbers. The workspace, the store, the remote and all else that
// decides what is trusted come from whoever started it.

import { STORE_FLAGS } from '../../../client/commands/store-flags.ts';
import { loadWorkspace } from '../../../client/config/workspace.ts';
import { currentFolder } from '../../../client/files/current-folder.ts';
import { RETRY_FLAG, retriesFrom } from '../../../client/retry/retry.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../../core/cli/command.ts';

const flags = {
  store: STORE_FLAGS.store,
  remote: { type: 'string', value: 'URL', text: 'a shared cache (default: ASSAY_REMOTE)' },
  jobs: { type: 'string', value: 'N', text: 'how many commands a run runs at a time' },
  'cache-failures': {
    type: 'string',
    optionalValue: true,
    value: 'local',
    text: 'local: keep failures on this machine for a day, as `assay run --cache-failures=local`',
  },
  retry: { ...RETRY_FLAG, text: 'run a command that fails again at most N times, as `assay run --retry`' },
} satisfies FlagTable;

export const mcpCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay mcp [FLAGS]',
    text: [
      'Serves the steps of this workspace to a coding agent, by the Model Context Protocol over standard input and output:',
      'the tools run_step, run_affected, explain, audit, status and show_log. Answers are short, and a log comes in pages.',
      'An agent can name declared steps, run ids and numbers, and nothing else: no command, no flag and no path. Ends when',
      'its standard input ends, and ends the commands of unfinished calls then.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token; never passed to a command',
    },
    exitCodes: { '0': 'the agent closed the connection', '2': 'no configuration, or a flag was refused' },
    examples: ['assay mcp', 'claude mcp add assay -- assay mcp'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay mcp takes no arguments');
    const wanted = parsed.text('cache-failures');
    if (wanted !== undefined && wanted !== 'local') throw usage('--cache-failures takes local');
    const folder = currentFolder();
    await loadWorkspace(folder);
    // A wrong number is refused now, and not with each call.
    retriesFrom(parsed);
    const given = (name: 'store' | 'remote' | 'jobs' | 'retry') => {
      const value = parsed.text(name);
      return value === undefined ? [] : [`--${name}=${value}`];
    };
    const { serveAgents } = await import('./server.ts');
    await serveAgents({
      folder,
      store: parsed.text('store'),
      place: given('store'),
      run: [
        ...given('remote'),
        ...given('jobs'),
        ...given('retry'),
        ...(wanted === undefined ? [] : [`--cache-failures=${wanted}`]),
      ],
      remote: given('remote'),
    });
    return 0;
  },
};
