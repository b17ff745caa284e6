// The mode of action leases of a run: by --action-lease, else by ASSAY_ACTION_LEASE, else auto. Every run loads this.
import { type ParsedFlags, usage } from '../../core/cli/command.ts';
import type { Variables } from '../action/environment.ts';
import type { ActionLeaseMode } from './action-lease.ts';

export const ACTION_LEASE_FLAG = {
  type: 'string',
  value: 'auto|off',
  text: 'auto: of runs that miss a long action at the same time, one runs it and the others wait, while that is worth it (default: ASSAY_ACTION_LEASE, or auto)',
} as const;

export function actionLeaseFrom(flags: ParsedFlags<'action-lease'>, caller: Variables): ActionLeaseMode {
  const given = flags.text('action-lease');
  return given === undefined ? actionLeaseIn(caller) : modeOf('--action-lease', given);
}

export function actionLeaseIn({ ASSAY_ACTION_LEASE: named }: Variables): ActionLeaseMode {
  return named ? modeOf('ASSAY_ACTION_LEASE', named) : 'auto';
}

function modeOf(name: string, text: string): ActionLeaseMode {
  if (text === 'auto' || text === 'off') return text;
  throw usage(`${name} takes auto or off, not ${JSON.stringify(text)}`);
}
