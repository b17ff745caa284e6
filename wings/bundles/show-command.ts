// `assay show --bundle FILE`: lists what is in a bundle. It reads the manifest, which stands before the content.

import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { actionNamedBy } from '../../core/metadata/receipt.ts';
import { decodeResult } from '../../core/result.ts';
import { bytes, counted } from '../../core/text/amounts.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { BundleReader } from './format/reader.ts';
import type { ResultRecord } from './format/records.ts';
import { requireSignature, trustedKey } from './format/signature.ts';
import { type BundleManifest, readBundleManifest } from './import/manifest.ts';
import { sourceOf } from './import-command.ts';

const flags = {
  bundle: { type: 'string', value: 'FILE', text: 'the bundle, or - for standard input' },
  trust: {
    type: 'string',
    multiple: true,
    value: 'KEY',
    text: 'fail unless this public key signed it: Ed25519, a PEM file; of several, one is enough',
  },
  json: { type: 'boolean', text: 'print one JSON object for each line on standard output' },
} satisfies FlagTable;

export const showBundleCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay show --bundle FILE [FLAGS]',
    text: 'Lists what a bundle of `assay export` has inside: who made it and when, its results with their outputs, and its labels. It stores nothing, and does not verify the content; `assay import` does.',
    flags,
    exitCodes: { '0': 'shown', '2': 'it is no bundle, or none that this version reads' },
    examples: ['assay show --bundle warm.bundle', 'assay show --bundle warm.bundle --json | jq .outputs'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const file = parsed.text('bundle');
    if (file === undefined || parsed.positionals.length > 0)
      throw usage('assay show --bundle takes one file');
    const keys = parsed.all('trust').map(trustedKey);
    const source = await sourceOf(file);
    try {
      const reader = await BundleReader.open(source);
      if (keys.length > 0) requireSignature(reader.head, keys);
      const manifest = await readBundleManifest(reader);
      const isSigned = reader.head.signature !== undefined;
      try {
        const stdout = new SyncStream(1);
        for (const line of parsed.given('json')
          ? jsonLines(manifest, isSigned)
          : textLines(manifest, isSigned))
          stdout.write(`${line}\n`);
      } finally {
        manifest.close();
      }
      return 0;
    } finally {
      source.close();
    }
  },
};

function* textLines(manifest: BundleManifest, isSigned: boolean): Generator<string> {
  const { bundle, made, counts } = manifest;
  const where = made.where === '' ? '' : ` on ${made.where}`;
  yield `bundle ${bundle}, ${isSigned ? 'signed' : 'not signed'}`;
  yield visibleLines(`made ${made.at}${where} by Assay ${made.assay}, as it says itself`);
  yield `${counted(counts.results, 'result')}, ${counted(counts.labels, 'label')}, ${counted(counts.blobs, 'blob')}, ${bytes(counts.bytes)}`;
  for (const record of manifest.records()) {
    if ('result' in record) yield visibleLines(resultLine(record.result));
    if ('label' in record) yield visibleLines(`${record.label.in} ${record.label.label}`);
  }
}

function resultLine(record: ResultRecord): string {
  const { action, exitCode, outputs } = outlineOf(record);
  const kind = record.in === '' ? `action ${action}` : record.in;
  const failed = exitCode === 0 ? '' : `, ended with ${exitCode}`;
  return `${kind}${failed}: ${outputs.join(', ') || 'no outputs'}`;
}

function* jsonLines({ bundle, made, counts, records }: BundleManifest, isSigned: boolean): Generator<string> {
  yield JSON.stringify({ bundle, made, isSigned, ...counts });
  for (const record of records()) {
    if ('result' in record) {
      const { in: kind, key } = record.result;
      yield JSON.stringify({ result: key, in: kind, ...outlineOf(record.result) });
    } else if ('label' in record) yield JSON.stringify(record.label);
    else if ('set' in record) yield JSON.stringify(record.set);
  }
}

interface Outline {
  readonly action: string;
  readonly exitCode: number;
  readonly outputs: readonly string[];
}

function outlineOf({ key, message }: ResultRecord): Outline {
  const result = decodeResult(message);
  const { outputFiles, outputDirectories, outputSymlinks, exitCode } = result;
  const outputs = [...outputFiles, ...outputDirectories, ...outputSymlinks].map(({ path }) => path);
  return { action: actionNamedBy(result) ?? key, exitCode, outputs };
}
