// The values of --json, where it has a short form: --json, and --json=short.
import { type Flag, type ParsedFlags, usage } from '../../core/cli/command.ts';

const SHORT = 'short';

/** The flag. `text`: what --json alone prints. */
export function jsonFlag(text: string): Flag {
  return {
    type: 'string',
    optionalValue: true,
    value: SHORT,
    text: `${text}; short: one answer of less than 2 KiB on standard output`,
  };
}

/** `all`: what --json alone prints. Undefined without --json. */
export function jsonForm(flags: ParsedFlags<'json'>): 'all' | 'short' | undefined {
  const form = flags.text('json');
  if (form === undefined || form === SHORT) return form;
  if (form === '') return 'all';
  throw usage(`--json takes ${SHORT} or no value, not ${JSON.stringify(form)}`);
}
