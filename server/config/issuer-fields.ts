// The fields below `issuers` of the server's configuration file, in tables. The reader of the wing and the JSON schema
// come from them.
import {
  type FieldTable,
  FLAG,
  listSchema,
  objectSchema,
  type Schema,
  TEXT,
  TEXTS,
} from '../../core/config/schema.ts';
import { MINUTE } from '../../core/units.ts';
import { RIGHTS, RIGHTS_BY_NAME } from '../access/rights.ts';
import { ACCESS } from '../limits.ts';

/** Whose claims its tokens have. */
export type IssuerKind = 'github' | 'gitlab' | 'generic';

export const ISSUER_KINDS: readonly IssuerKind[] = ['github', 'gitlab', 'generic'];

/** How long a short token may be valid. */
export const RULE_MINUTES = { least: ACCESS.minShortTokenMs / MINUTE, most: ACCESS.maxShortTokenMs / MINUTE };

const TEXT_OR_TEXTS: Schema = { anyOf: [TEXT, TEXTS] };
const NUMBER: Schema = { type: 'integer', minimum: 1 };
const VALUE: Schema = { type: ['string', 'integer', 'boolean'] };

export const RULE_FIELDS = {
  when: {
    text: 'the claims that a token must have: a text, a number, a list of these, or a text in which "*" stands for anything',
    schema: { type: 'object', minProperties: 1, additionalProperties: { anyOf: [VALUE, listSchema(VALUE)] } },
    isRequired: true,
  },
  namespace: {
    text: 'what the job may write, such as acme/app/{claim}; pull requests get a namespace of their own beside it',
    schema: TEXT,
    isRequired: true,
  },
  reads: {
    text: 'what the job reads besides, after its own namespace, in this order',
    schema: { ...TEXTS, maxItems: ACCESS.maxRuleReads },
  },
  rights: {
    text: `read, write, read-write (the default), or a list of rights: ${RIGHTS.join(', ')}`,
    schema: { anyOf: [{ enum: Object.keys(RIGHTS_BY_NAME) }, listSchema({ enum: RIGHTS })] },
  },
  minutes: {
    text: `how long the token is valid: ${RULE_MINUTES.least} to ${RULE_MINUTES.most} (the default)`,
    schema: { type: 'integer', minimum: RULE_MINUTES.least, maximum: RULE_MINUTES.most },
  },
  trust: {
    text: 'give pull requests and other events that outsiders can cause the same namespace as a push: whoever opens a pull request can then poison it',
    schema: FLAG,
  },
} as const satisfies FieldTable;

export const REPOSITORY_FIELDS = {
  id: { text: 'the number of the repository or project', schema: NUMBER, isRequired: true },
  owner: { text: 'the number of its owner, or of its namespace in GitLab', schema: NUMBER, isRequired: true },
  namespace: {
    text: 'the namespace above all of its branches, such as acme/app',
    schema: TEXT,
    isRequired: true,
  },
  main: { text: 'the main branch: refs/heads/main (GitHub) or main (GitLab) unless given', schema: TEXT },
  protected: { text: 'the main branch counts only while it is protected', schema: FLAG },
} as const satisfies FieldTable;

export const ISSUER_FIELDS = {
  issuer: {
    text: 'the URL of the issuer, exactly as its tokens have it, such as https://token.actions.githubusercontent.com',
    schema: TEXT,
    isRequired: true,
  },
  kind: { text: 'whose claims its tokens have', schema: { enum: ISSUER_KINDS }, isRequired: true },
  audience: {
    text: 'the audience that a token must be for, or several: the name of this server',
    schema: TEXT_OR_TEXTS,
    isRequired: true,
  },
  jwks: { text: 'the URL of its keys, if its discovery document does not say it', schema: TEXT },
  rules: { text: 'the first rule that applies decides', schema: listSchema(objectSchema(RULE_FIELDS)) },
  repositories: {
    text: 'repositories of GitHub with the usual rules for main, branches, tags and pull requests',
    schema: listSchema(objectSchema(REPOSITORY_FIELDS)),
  },
  projects: {
    text: 'projects of GitLab with the usual rules for main, branches, tags and merge requests',
    schema: listSchema(objectSchema(REPOSITORY_FIELDS)),
  },
} as const satisfies FieldTable;

/** The schema of the whole field. */
export const ISSUERS_SCHEMA: Schema = listSchema(objectSchema(ISSUER_FIELDS));
