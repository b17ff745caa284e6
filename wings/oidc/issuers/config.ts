// Reads the field `issuers` of the server's configuration: whose tokens are exchanged, and for what.
// Guarantee: a rule that outsiders could satisfy by choosing a name is refused, with the reason.
import type { ConfigValue } from '../../../core/config/document.ts';
import type { FieldTable } from '../../../core/config/schema.ts';
import { type AssayError, messageOf } from '../../../core/errors.ts';
import { type Namespace, PULL_REQUESTS, parseNamespace } from '../../../core/namespace.ts';
import { MINUTE } from '../../../core/units.ts';
import { parseRights, RIGHTS, RIGHTS_BY_NAME, type Right } from '../../../server/access/rights.ts';
import {
  ISSUER_FIELDS,
  ISSUER_KINDS,
  type IssuerKind,
  REPOSITORY_FIELDS,
  RULE_FIELDS,
  RULE_MINUTES,
} from '../../../server/config/issuer-fields.ts';
import { ACCESS } from '../../../server/limits.ts';
import { isAllowedUrl } from './fetch-json.ts';
import { type Repository, rulesOf } from './ready-made.ts';
import type { Condition, Rule } from './rule.ts';
import { claimsIn, parseTemplate, type Template } from './template.ts';

export interface Issuer {
  readonly kind: IssuerKind;
  /** Compared with the claim `iss` exactly. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Where the keys are. Undefined: the issuer's discovery document says it. */
  readonly jwks: string | undefined;
  readonly rules: readonly Rule[];
}

type Fields<Table extends FieldTable> = Partial<Record<keyof Table & string, ConfigValue>>;

export function parseIssuers(value: ConfigValue): Issuer[] {
  const places = new Places();
  const seen = new Set<string>();
  return value.list('a list of issuers').map((item) => {
    const issuer = parseIssuer(item, places);
    if (seen.has(issuer.issuer)) throw item.refuse('an earlier issuer has the same URL');
    seen.add(issuer.issuer);
    return issuer;
  });
}

function parseIssuer(value: ConfigValue, places: Places): Issuer {
  const fields = value.fields(ISSUER_FIELDS);
  const kind = required(value, fields, 'kind').oneOf(ISSUER_KINDS);
  const issuer = urlIn(required(value, fields, 'issuer'));
  const audiences = textsIn(required(value, fields, 'audience'));
  const rules = [
    ...(fields.rules?.list('a list of rules') ?? []).map((rule) => parseRule(rule, kind, issuer, places)),
    ...repositoriesIn(fields, kind).flatMap((one) => readyMade(one, kind, places)),
  ];
  if (rules.length === 0) throw value.refuse('without a rule, no token of this issuer is worth anything');
  return { kind, issuer, audiences, jwks: fields.jwks && urlIn(fields.jwks), rules };
}

function required<Table extends FieldTable, Name extends keyof Table & string>(
  value: ConfigValue,
  fields: Fields<Table>,
  name: Name,
): ConfigValue {
  const found = fields[name];
  if (!found) throw value.refuse(`${JSON.stringify(name)} is missing`);
  return found;
}

function urlIn(value: ConfigValue): string {
  const { text } = value.text('a URL in "quotes"');
  if (!isAllowedUrl(text))
    throw value.refuse('an https:// URL is expected here; http:// is taken for loopback alone');
  return text;
}

function textsIn(value: ConfigValue): string[] {
  const texts = value.isList ? value.texts() : [value.text('a text, or a list of texts,')];
  if (texts.length === 0 || texts.some(({ text }) => text === ''))
    throw value.refuse('at least one text is expected here, and none that is empty');
  return texts.map(({ text }) => text);
}

function parseRule(value: ConfigValue, kind: IssuerKind, issuer: string, places: Places): Rule {
  const fields = value.fields(RULE_FIELDS);
  const when = conditionsIn(required(value, fields, 'when'), kind);
  const namespaceAt = required(value, fields, 'namespace');
  const namespace = templateIn(namespaceAt);
  const reads = (fields.reads?.list('a list of namespaces') ?? []).map(templateIn);
  if (reads.length > ACCESS.maxRuleReads)
    throw (fields.reads ?? value).refuse(`at most ${ACCESS.maxRuleReads} namespaces fit into a short token`);
  const trustsAll = fields.trust?.flag() ?? false;
  const parent = trustsAll ? undefined : parentOf(namespace, namespaceAt);
  if (parent !== undefined) places.addShared(parent, issuer, namespaceAt);
  return {
    when,
    trusted: { namespace, reads },
    untrusted: parent === undefined ? undefined : { parent, isShared: true, reads: [namespace, ...reads] },
    trustsAll,
    rights: fields.rights ? rightsIn(fields.rights) : new Set(RIGHTS_BY_NAME['read-write']),
    lifetimeMs: (fields.minutes?.number(RULE_MINUTES.least, RULE_MINUTES.most) ?? RULE_MINUTES.most) * MINUTE,
  };
}

/** Claims that say who started a run, or that a repository can choose. They do not say which code runs. */
const REFUSED_CLAIMS: Readonly<Record<string, string>> = {
  sub: '`sub` can be given another form by the owner of a repository, and its default form has changed; compare ids, ref and event',
  actor: '`actor` says who started a run, not which code runs; compare ids, ref and event',
  actor_id: '`actor_id` says who started a run, not which code runs; compare ids, ref and event',
  user_login: '`user_login` says who started a run, not which code runs; compare ids, ref and source',
  user_email: '`user_email` says who started a run, not which code runs; compare ids, ref and source',
  user_id: '`user_id` says who started a run, not which code runs; compare ids, ref and source',
};

/** Anybody can have a repository at a public issuer, so a rule must name one, or an owner, by number. */
const ID_CLAIMS: Readonly<Record<IssuerKind, readonly string[]>> = {
  github: ['repository_id', 'repository_owner_id', 'enterprise_id'],
  gitlab: ['project_id', 'namespace_id'],
  generic: [],
};

function conditionsIn(value: ConfigValue, kind: IssuerKind): Condition[] {
  const conditions = [...value.entries()].map(([claim, at]) => {
    refuseClaim(claim, (why) => at.key.refuse(why));
    const items = at.value.isList ? at.value.list() : [at.value];
    if (items.length === 0) throw at.value.refuse('an empty list matches nothing');
    return { claim, values: items.map(conditionValue) };
  });
  if (conditions.length === 0) throw value.refuse('a rule must compare at least one claim');
  const ids = ID_CLAIMS[kind];
  const isBound = conditions.some(
    ({ claim, values }) => ids.includes(claim) && values.every((one) => !one.includes('*')),
  );
  if (ids.length > 0 && !isBound)
    throw value.refuse(
      `a rule must compare ${ids.join(' or ')} with a number: names can be registered by anybody`,
    );
  return conditions;
}

function refuseClaim(claim: string, refuse: (why: string) => AssayError): void {
  const why = Object.hasOwn(REFUSED_CLAIMS, claim) ? REFUSED_CLAIMS[claim] : undefined;
  if (why !== undefined) throw refuse(why);
}

function conditionValue(value: ConfigValue): string {
  const text = value.scalarText();
  if (text === '') throw value.refuse('a claim is never empty: an empty text matches nothing');
  return text;
}

function templateIn(value: ConfigValue): Template {
  const template = asTemplate(value);
  for (const claim of claimsIn(template)) refuseClaim(claim, (why) => value.refuse(why));
  return template;
}

function asTemplate(value: ConfigValue): Template {
  const { text } = value.text('a namespace in "quotes"');
  try {
    return parseTemplate(text);
  } catch (error) {
    throw value.refuse(messageOf(error));
  }
}

/**
 * Pull requests get PARENT/pr/…, beside the namespace and not below it. The first part is the tenant, which
 * walls blobs, so it must stay the same, and no claim may choose it.
 */
function parentOf(template: Template, at: ConfigValue): Namespace {
  const firstClaim = template.findIndex((part) => typeof part !== 'string');
  const literals = template.slice(0, firstClaim === -1 ? template.length - 1 : firstClaim);
  if (literals.length === 0)
    throw at.refuse(
      `pull requests need a place beside it in the same tenant: give a namespace of two parts, the first without a claim (acme/main), or "trust": true`,
    );
  return parseNamespace(literals.join('/'));
}

function rightsIn(value: ConfigValue): ReadonlySet<Right> {
  const text = value.isList
    ? value
        .list()
        .map((item) => item.oneOf(RIGHTS))
        .join()
    : value.oneOf(['read', 'write', 'read-write']);
  const rights = parseRights(text);
  if (!rights) throw value.refuse('at least one right is expected here');
  return rights;
}

interface Named {
  readonly at: ConfigValue;
  readonly repository: Repository;
}

function repositoriesIn({ repositories, projects }: Fields<typeof ISSUER_FIELDS>, kind: IssuerKind): Named[] {
  if (repositories && kind !== 'github')
    throw repositories.refuse('"repositories" belongs to an issuer of kind github');
  if (projects && kind !== 'gitlab') throw projects.refuse('"projects" belongs to an issuer of kind gitlab');
  const named = (repositories ?? projects)?.list('a list of repositories or projects') ?? [];
  const ids = new Set<number>();
  return named.map((at) => {
    const repository = parseRepository(at, kind);
    if (ids.has(repository.id)) throw at.refuse('an earlier entry has the same id');
    ids.add(repository.id);
    return { at, repository };
  });
}

function parseRepository(value: ConfigValue, kind: IssuerKind): Repository {
  const fields = value.fields(REPOSITORY_FIELDS);
  const namespaceAt = required(value, fields, 'namespace');
  const template = asTemplate(namespaceAt);
  if (claimsIn(template).length > 0) throw namespaceAt.refuse('the namespace of a repository has no claims');
  return {
    id: required(value, fields, 'id').count(),
    owner: required(value, fields, 'owner').count(),
    namespace: parseNamespace(template.join('/')),
    mainBranch: fields.main ? mainBranchIn(fields.main, kind) : 'main',
    isProtected: fields.protected?.flag() ?? false,
  };
}

/** As each service writes it in `ref`. "*" would make every branch the main branch. */
function mainBranchIn(value: ConfigValue, kind: IssuerKind): string {
  const { text } = value.text('the name of a branch in "quotes"');
  const [, prefix = '', name = ''] = /^(refs\/heads\/)?([^*]+)$/.exec(text) ?? [];
  const isRight = kind === 'github' ? prefix !== '' : prefix === '' && !name.startsWith('refs/');
  if (name === '' || !isRight)
    throw value.refuse(
      `a branch such as ${kind === 'github' ? '"refs/heads/main"' : '"main"'} is expected here`,
    );
  return name;
}

function readyMade({ at, repository }: Named, kind: IssuerKind, places: Places): Rule[] {
  if (kind === 'generic') throw at.refuse('there are no usual rules for this kind of issuer');
  places.addOwn(repository.namespace, at);
  return rulesOf(kind, repository);
}

/** The namespaces above pull requests: two repositories must not give two pull requests the same one. */
class Places {
  readonly #own: Namespace[] = [];
  readonly #shared = new Map<Namespace, string>();

  addOwn(namespace: Namespace, at: ConfigValue): void {
    const other = this.#own.find(
      (one) => `${one}/`.startsWith(`${namespace}/`) || `${namespace}/`.startsWith(`${one}/`),
    );
    if (other !== undefined)
      throw at.refuse(
        `its namespace ${namespace} is that of another entry, or one is in the other: ${other}`,
      );
    this.#own.push(namespace);
  }

  addShared(parent: Namespace, issuer: string, at: ConfigValue): void {
    const other = this.#shared.get(parent) ?? issuer;
    if (other !== issuer)
      throw at.refuse(
        `pull requests of two issuers would share ${parent}/${PULL_REQUESTS}, and their numbers may be the same: use another namespace`,
      );
    this.#shared.set(parent, issuer);
  }
}
