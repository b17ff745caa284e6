// The claims of a verified token, and whether its run may be trusted with more than its own namespace.
//
// Guarantee: a run whose code or trigger an outsider may control is never trusted by itself. The lists below
// name the events that only somebody with the right to push can cause. Every other event is untrusted, also
// one that does not exist yet.

import { createHash } from 'node:crypto';
import type { IssuerKind } from '../../../server/config/issuer-fields.ts';
import { OIDC } from '../limits.ts';

export type Claims = Readonly<Record<string, unknown>>;

/**
 * Not pull_request, pull_request_target, issue_comment, workflow_run, issues, discussion … : they run for
 * outsiders. Not merge_group: it runs the code of a pull request before it is merged.
 */
const TRUSTED_EVENTS = new Set(['push', 'schedule', 'workflow_dispatch', 'repository_dispatch', 'release']);

/** Not merge_request_event, external_pull_request_event, chat … */
const TRUSTED_SOURCES = new Set(['push', 'schedule', 'web', 'api', 'trigger', 'pipeline']);

/** Git refs of pull requests and merge requests. No event makes their code trusted. */
const PULL_REF = /^refs\/(?:pull|merge-requests)\//;

/**
 * Texts and numbers. GitHub sends ids as texts, other issuers as numbers. Undefined for anything else, and for
 * a text with half a character: two of them would have the same bytes in UTF-8.
 */
export function claimText(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === 'string') return value !== '' && value.isWellFormed() ? value : undefined;
  return Number.isSafeInteger(value) || typeof value === 'boolean' ? String(value) : undefined;
}

export function isTrustedRun(kind: IssuerKind, claims: Claims): boolean {
  const refs = [claimText(claims, 'ref'), claimText(claims, 'ref_path')];
  if (refs.some((ref) => ref !== undefined && PULL_REF.test(ref))) return false;
  const event = claimText(claims, 'event_name');
  const source = claimText(claims, 'pipeline_source');
  if (kind === 'github') return event !== undefined && TRUSTED_EVENTS.has(event);
  if (kind === 'gitlab') return source !== undefined && isTrustedSource(source, claims);
  // Another issuer may copy the claims of GitHub or GitLab. Without them its rules alone decide.
  const isTrustedEvent = event === undefined || TRUSTED_EVENTS.has(event);
  return isTrustedEvent && (source === undefined || isTrustedSource(source, claims));
}

/**
 * The token of a child pipeline does not say whether its parent belongs to a merge request. GitLab gives
 * protected variables only to a job whose ref is protected, so such a job is trusted with secrets already.
 */
function isTrustedSource(source: string, claims: Claims): boolean {
  const isProtectedChild = source === 'parent_pipeline' && claimText(claims, 'ref_protected') === 'true';
  return isProtectedChild || TRUSTED_SOURCES.has(source);
}

/**
 * Adds `branch` or `tag`: the short name of what the run belongs to. A branch and a tag can have the same
 * name, so rules that mean one of them compare these.
 */
export function withBranchAndTag(kind: IssuerKind, claims: Claims): Claims {
  if (kind === 'generic') return claims;
  const ref = claimText(claims, 'ref') ?? '';
  if (kind === 'github')
    return { ...claims, branch: after(ref, 'refs/heads/'), tag: after(ref, 'refs/tags/') };
  const type = claimText(claims, 'ref_type');
  return { ...claims, branch: type === 'branch' ? ref : '', tag: type === 'tag' ? ref : '' };
}

function after(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : '';
}

/**
 * A name for an untrusted run that no other pull request has: GitHub's number of it, else the run itself.
 *
 * pull_request_target, issue_comment and workflow_run carry the default branch as their ref, and a merged
 * pull_request its base branch, so their tokens do not say the number. Their `head_ref` is no name either: the
 * branches of two forks may both be "patch-1". GitLab's tokens never say the number of a merge request, and
 * their `ref` is the branch of the fork. The id of a run is given once, so what such a run writes is its own.
 */
export function pullRequestName(claims: Claims): string | undefined {
  const number = /^refs\/pull\/(\d+)\/(?:merge|head)$/.exec(claimText(claims, 'ref') ?? '')?.[1];
  if (number !== undefined) return number;
  const run = wholeNumber(claims, 'run_id');
  if (run !== undefined) return `run-${run}`;
  const pipeline = wholeNumber(claims, 'pipeline_id');
  return pipeline === undefined ? undefined : `pipeline-${pipeline}`;
}

/** The number of the repository or project: numbers of pull requests are unique only within one. */
export function repositoryNumber(claims: Claims): string | undefined {
  return wholeNumber(claims, 'repository_id') ?? wholeNumber(claims, 'project_id');
}

function wholeNumber(claims: Claims, name: string): string | undefined {
  const text = claimText(claims, name);
  return text !== undefined && /^\d{1,20}$/.test(text) ? text : undefined;
}

/** For the log and the writer of a result: `github:acme/app#74:push:refs/heads/main:run-5`. */
export function runName(kind: IssuerKind, issuer: string, claims: Claims): string {
  const field = (name: string) => printable(claimText(claims, name) ?? '');
  if (kind === 'github')
    return `github:${field('repository')}#${field('repository_id')}:${field('event_name')}:${field('ref')}:run-${field('run_id')}`;
  if (kind === 'gitlab')
    return `gitlab:${field('project_path')}#${field('project_id')}:${field('pipeline_source')}:${field('ref')}:pipeline-${field('pipeline_id')}`;
  const token = createHash('sha256').update(JSON.stringify(claims)).digest('hex').slice(0, 16);
  return `oidc:${printable(new URL(issuer).host)}:${token}`;
}

function printable(text: string): string {
  return text.slice(0, OIDC.maxClaimLength).replaceAll(/[^0-9A-Za-z_./@-]/g, '_');
}
