// `assay verify-release`: checks downloaded packages of Assay before they are installed.
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { type Verified, verifyRelease } from './release.ts';

const flags = {
  key: { type: 'string', value: 'FILE', text: 'the Ed25519 public key of whoever made the release, as PEM' },
  unsigned: { type: 'boolean', text: 'compare digests only: finds damage, but no forgery' },
  json: { type: 'boolean', text: 'print one JSON object' },
} satisfies FlagTable;

export const verifyReleaseCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay verify-release DIR (--key FILE | --unsigned)',
    text: [
      'Checks the files of a release in DIR: the signature of SHA256SUMS, then the SHA-256 of each file that it lists and',
      'that is there. A file that it does not list fails. Get the public key by another way than the release.',
    ].join('\n'),
    flags,
    exitCodes: { '0': 'all that is there is right', '3': 'a file or the signature is not right' },
    examples: [
      'assay verify-release ./downloads --key release.pub',
      'assay verify-release dist/release --unsigned',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const [folder, ...rest] = parsed.positionals;
    if (folder === undefined || rest.length > 0) throw usage('assay verify-release takes one folder');
    const key = parsed.text('key');
    if ((key !== undefined) === parsed.given('unsigned'))
      throw usage('say either --key FILE, to check who signed the release, or --unsigned');
    const verified = await verifyRelease(folder, key);
    new SyncStream(1).write(parsed.given('json') ? `${JSON.stringify(verified)}\n` : report(verified));
    return 0;
  },
};

function report({ signed, right, missing }: Verified): string {
  return [
    ...right.map((name) => `right    ${name}\n`),
    ...missing.map((name) => `missing  ${name}\n`),
    signed
      ? 'The signature is by the given key.\n'
      : 'The signature was not checked: these digests show damage, but not who made the files.\n',
  ].join('');
}
