// The log syntax of CI systems beyond plain text: foldable groups, and annotations of failures and warnings.
import type { Variables } from '../action/environment.ts';
import type { StepEnd } from './events.ts';
import { failureReason } from './words.ts';

export interface CiSyntax {
  /** `open`: the group starts unfolded, because it needs attention. */
  groupStart(title: string, at: number, open: boolean): string;
  groupEnd(title: string, at: number): string;
  /** Lines that annotate a failed step; may be empty. */
  annotate(end: StepEnd): string;
  /** A line that annotates a warning. */
  warn(step: string, text: string): string;
}

export function ciSyntax(variables: Variables): CiSyntax | undefined {
  if (variables.GITHUB_ACTIONS === 'true') return GITHUB;
  return variables.GITLAB_CI === 'true' ? GITLAB : undefined;
}

/** Workflow commands. Data is escaped, so that a step's name cannot inject a command. */
const GITHUB: CiSyntax = {
  groupStart: (title) => `::group::${data(title)}\n`,
  groupEnd: () => '::endgroup::\n',
  annotate: (end) => `::error title=${property(end.step)}::${data(failureReason(end))}\n`,
  warn: (step, text) => `::warning title=${property(step)}::${data(text)}\n`,
};

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

const GITLAB: CiSyntax = {
  groupStart: (title, at, open) =>
    `\x1b[0Ksection_start:${seconds(at)}:${sectionName(title)}[collapsed=${!open}]\r\x1b[0K${title}\n`,
  groupEnd: (title, at) => `\x1b[0Ksection_end:${seconds(at)}:${sectionName(title)}\r\x1b[0K\n`,
  annotate: () => '',
  warn: (step, text) => `assay: ${step}: ${text}\n`,
};

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

function sectionName(title: string): string {
  return title.split(' ', 1)[0]?.replaceAll(/[^A-Za-z0-9_.-]/g, '_') ?? 'step';
}
