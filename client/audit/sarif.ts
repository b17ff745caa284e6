// An audit as SARIF 2.1.0 for code scanning: each kind of finding is a rule, each finding a result.
//
// Code scanning needs a location in the repository for every result. A finding without one (network, system
// file, variation) gets the location of the configuration, where it would be declared.
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { VERSION } from '../../core/version.ts';
import {
  commandText,
  type Finding,
  type FindingKind,
  fixText,
  READ_KINDS,
} from '../../hermeticity/verdict/finding.ts';
import { rankOf } from '../trace/finding-rank.ts';
import type { Audit } from './audit.ts';
import { KINDS } from './finding-kinds.ts';

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';
const ROOT = '%SRCROOT%';
const CONFIGURATION = 'assay.json';

export interface AuditedCommand {
  readonly workspace: string;
  readonly command: readonly string[];
}

export function auditSarif(audit: Audit, { workspace, command }: AuditedCommand): SarifLog {
  const kinds = [...new Set(audit.findings.map(({ kind }) => kind))].sort();
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'assay', version: VERSION, semanticVersion: VERSION, rules: kinds.map(rule) },
        },
        originalUriBaseIds: { [ROOT]: { uri: `${pathToFileURL(workspace).href}/` } },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: audit.complete,
            exitCode: audit.exitCode,
            commandLine: commandText(command),
            toolExecutionNotifications: audit.gaps.map((text) => ({ level: 'warning', message: { text } })),
          },
        ],
        results: audit.findings.map((finding) => result(finding, kinds, command)),
      },
    ],
  };
}

function rule(kind: FindingKind): SarifRule {
  const { title, meaning, mend } = KINDS[kind];
  return {
    id: kind,
    name: title,
    shortDescription: { text: title },
    fullDescription: { text: meaning },
    help: { text: mend },
    defaultConfiguration: { level: READ_KINDS.has(kind) ? 'note' : 'warning' },
  };
}

function result(finding: Finding, kinds: readonly FindingKind[], command: readonly string[]): SarifResult {
  const { kind, path, process } = finding;
  return {
    ruleId: kind,
    ruleIndex: kinds.indexOf(kind),
    level: rankOf(finding) === 'advice' ? 'note' : 'warning',
    message: { text: messageFor(finding) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriFor(path), uriBaseId: ROOT },
          region: { startLine: 1 },
        },
      },
    ],
    partialFingerprints: { 'assay/v1': fingerprint(finding, command) },
    ...(process && { properties: { process: commandText(process) } }),
  };
}

function messageFor({ kind, path, detail, fix, advice, process }: Finding): string {
  const { title, mend } = KINDS[kind];
  const what = [path, detail].filter((part) => part !== undefined).join(': ');
  const who = process ? ` (by ${commandText(process)})` : '';
  return `${title}${what === '' ? '' : `: ${what}`}${who}. ${fix ? `Declare it: ${fixText(fix)}` : (advice ?? mend)}`;
}

/** A path as an audit shows it; "../x" and "/x" lie outside the repository. */
function uriFor(path: string | undefined): string {
  const inside =
    path !== undefined && path !== '.' && !path.startsWith('/') && !path.startsWith('../') && path !== '..';
  return inside ? path.split('/').map(encodeURIComponent).join('/') : CONFIGURATION;
}

/** Identifies the same finding in the next scan, without parts that change from run to run. */
function fingerprint({ kind, path }: Finding, command: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, path ?? '', command]))
    .digest('hex');
}

export interface SarifLog {
  readonly $schema: string;
  readonly version: '2.1.0';
  readonly runs: SarifRun[];
}

interface Text {
  readonly text: string;
}

interface SarifRun {
  readonly tool: {
    readonly driver: {
      readonly name: string;
      readonly version: string;
      readonly semanticVersion: string;
      readonly rules: SarifRule[];
    };
  };
  readonly originalUriBaseIds: Record<string, { readonly uri: string }>;
  readonly columnKind: 'utf16CodeUnits';
  readonly invocations: {
    readonly executionSuccessful: boolean;
    readonly exitCode: number;
    readonly commandLine: string;
    readonly toolExecutionNotifications: { readonly level: 'warning'; readonly message: Text }[];
  }[];
  readonly results: SarifResult[];
}

/** `note`: a read that is compared before every hit. */
type SarifLevel = 'note' | 'warning';

interface SarifRule {
  readonly id: FindingKind;
  readonly name: string;
  readonly shortDescription: Text;
  readonly fullDescription: Text;
  readonly help: Text;
  readonly defaultConfiguration: { readonly level: SarifLevel };
}

interface SarifResult {
  readonly ruleId: FindingKind;
  readonly ruleIndex: number;
  readonly level: SarifLevel;
  readonly message: Text;
  readonly locations: {
    readonly physicalLocation: {
      readonly artifactLocation: { readonly uri: string; readonly uriBaseId: string };
      readonly region: { readonly startLine: number };
    };
  }[];
  readonly partialFingerprints: Record<string, string>;
  readonly properties?: { readonly process: string };
}
