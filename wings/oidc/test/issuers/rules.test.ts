// Which namespace a run of GitHub or GitLab gets. A run that outsiders can cause never gets a trusted one.
import { describe, expect, test } from 'vitest';
import { parseDocument } from '../../../../core/config/document.ts';
import type { Claims } from '../../issuers/claims.ts';
import { type Issuer, parseIssuers } from '../../issuers/config.ts';
import { OidcIssuers } from '../../issuers/issuers.ts';
import { identityFor, matches } from '../../issuers/rule.ts';

const NOW = 1_800_000_000_000;

const GITHUB = 'https://token.actions.githubusercontent.com';
const REPOSITORY = { id: 74, owner: 65, namespace: 'acme/app', main: 'refs/heads/main' };
const PROJECT = { id: 20, owner: 72, namespace: 'acme/app', main: 'main' };

function issuersOf(...issuers: object[]): Issuer[] {
  return parseIssuers(parseDocument({ file: 'config.json', text: JSON.stringify(issuers) }));
}

function github(more: object = { repositories: [REPOSITORY] }): Issuer {
  const [issuer] = issuersOf({ issuer: GITHUB, kind: 'github', audience: 'here', ...more });
  if (!issuer) throw new Error('no issuer');
  return issuer;
}

function gitlab(more: object = { projects: [PROJECT] }): Issuer {
  const [issuer] = issuersOf({ issuer: 'https://gitlab.com', kind: 'gitlab', audience: 'here', ...more });
  if (!issuer) throw new Error('no issuer');
  return issuer;
}

/** Its namespace, then what it reads. Undefined if no rule applies. */
function placeOf(issuer: Issuer, claims: Claims): readonly string[] | undefined {
  const identity = identityFor(issuer.rules, { ...issuer, claims }, NOW);
  return identity && [identity.namespace, ...identity.reads];
}

/** As GitHub sends them: all of them texts. */
function run(event: string, ref: string, more: Claims = {}): Claims {
  return {
    repository: 'acme/app',
    repository_id: '74',
    repository_owner_id: '65',
    ref,
    ref_type: ref.startsWith('refs/tags/') ? 'tag' : 'branch',
    ref_protected: 'false',
    event_name: event,
    head_ref: '',
    base_ref: '',
    run_id: '900',
    sub: 'repo:acme/app:ref:refs/heads/main',
    actor: 'octocat',
    ...more,
  };
}

const PULL = { head_ref: 'patch-1', base_ref: 'main' };

describe('the usual rules of a repository of GitHub', () => {
  test.each([
    ['push to main', run('push', 'refs/heads/main'), ['acme/app/main']],
    ['push to a branch', run('push', 'refs/heads/x'), ['acme/app/branch/x', 'acme/app/main']],
    [
      'push to a branch with a slash',
      run('push', 'refs/heads/a/b'),
      ['acme/app/branch/a_2fb', 'acme/app/main'],
    ],
    ['push of a tag', run('push', 'refs/tags/v1'), ['acme/app/tag/v1', 'acme/app/main']],
    ['push of a tag called main', run('push', 'refs/tags/main'), ['acme/app/tag/main', 'acme/app/main']],
    [
      'push to a branch called refs/heads/main',
      run('push', 'refs/heads/refs/heads/main'),
      ['acme/app/branch/refs_2fheads_2fmain', 'acme/app/main'],
    ],
    ['push to a branch called pr', run('push', 'refs/heads/pr'), ['acme/app/branch/_70r', 'acme/app/main']],
    ['schedule', run('schedule', 'refs/heads/main'), ['acme/app/main']],
    ['workflow_dispatch on main', run('workflow_dispatch', 'refs/heads/main'), ['acme/app/main']],
    [
      'workflow_dispatch on a branch',
      run('workflow_dispatch', 'refs/heads/x'),
      ['acme/app/branch/x', 'acme/app/main'],
    ],
    ['release', run('release', 'refs/tags/v2'), ['acme/app/tag/v2', 'acme/app/main']],
    ['pull_request', run('pull_request', 'refs/pull/5/merge', PULL), ['acme/app/pr/5', 'acme/app/main']],
    [
      'pull_request to another base',
      run('pull_request', 'refs/pull/5/merge', { ...PULL, base_ref: 'v/1' }),
      ['acme/app/pr/5', 'acme/app/branch/v_2f1', 'acme/app/main'],
    ],
    [
      'pull_request that was merged',
      run('pull_request', 'refs/heads/main', PULL),
      ['acme/app/pr/run-900', 'acme/app/main'],
    ],
    [
      'pull_request_review',
      run('pull_request_review', 'refs/pull/5/merge', PULL),
      ['acme/app/pr/5', 'acme/app/main'],
    ],
    [
      'pull_request_target',
      run('pull_request_target', 'refs/heads/main', PULL),
      ['acme/app/pr/run-900', 'acme/app/main'],
    ],
    ['issue_comment', run('issue_comment', 'refs/heads/main'), ['acme/app/pr/run-900', 'acme/app/main']],
    ['workflow_run', run('workflow_run', 'refs/heads/main'), ['acme/app/pr/run-900', 'acme/app/main']],
    [
      'merge_group',
      run('merge_group', 'refs/heads/gh-readonly-queue/main/pr-5-abc'),
      ['acme/app/pr/run-900', 'acme/app/main'],
    ],
    ['issues', run('issues', 'refs/heads/main'), ['acme/app/pr/run-900', 'acme/app/main']],
    [
      'discussion_comment',
      run('discussion_comment', 'refs/heads/main'),
      ['acme/app/pr/run-900', 'acme/app/main'],
    ],
    ['fork', run('fork', 'refs/heads/main'), ['acme/app/pr/run-900', 'acme/app/main']],
    [
      'an event that does not exist yet',
      run('telepathy', 'refs/heads/main'),
      ['acme/app/pr/run-900', 'acme/app/main'],
    ],
    ['a push to a pull request’s ref', run('push', 'refs/pull/5/head'), ['acme/app/pr/5', 'acme/app/main']],
    ['no event', run('', 'refs/heads/main'), ['acme/app/pr/run-900', 'acme/app/main']],
    [
      'numbers instead of texts',
      run('push', 'refs/heads/main', { repository_id: 74, repository_owner_id: 65 }),
      ['acme/app/main'],
    ],
  ])('%s', (_name, claims, place) => {
    expect(placeOf(github(), claims)).toEqual(place);
  });

  test.each([
    ['a fork', run('push', 'refs/heads/main', { repository_id: '75', repository_owner_id: '66' })],
    ['another repository of the owner', run('push', 'refs/heads/main', { repository_id: '75' })],
    ['the repository after it was given away', run('push', 'refs/heads/main', { repository_owner_id: '66' })],
    ['an id with a zero before it', run('push', 'refs/heads/main', { repository_id: '074' })],
    ['an id in a list', run('push', 'refs/heads/main', { repository_id: ['74'] })],
    ['no id', run('push', 'refs/heads/main', { repository_id: undefined })],
    ['a ref that is neither branch nor tag', run('push', 'refs/notes/main')],
    ['a ref without its prefix', run('push', 'main')],
    ['no ref', run('push', '')],
    [
      'a pull request that names neither number nor run',
      run('issue_comment', 'refs/heads/main', { run_id: '' }),
    ],
    ['a run id that is no number', run('issue_comment', 'refs/heads/main', { run_id: '../../main' })],
  ])('give nothing to %s', (_name, claims) => {
    expect(placeOf(github(), claims)).toBeUndefined();
  });

  test('take an unprotected main branch for another branch, where protection is asked for', () => {
    const issuer = github({ repositories: [{ ...REPOSITORY, protected: true }] });
    expect(placeOf(issuer, run('push', 'refs/heads/main', { ref_protected: 'true' }))).toEqual([
      'acme/app/main',
    ]);
    expect(placeOf(issuer, run('push', 'refs/heads/main'))).toEqual([
      'acme/app/branch/main',
      'acme/app/main',
    ]);
  });

  test('give an hour, and no right that a pull request must not have', () => {
    const issuer = github();
    const identity = identityFor(
      issuer.rules,
      { ...issuer, claims: run('pull_request', 'refs/pull/5/merge') },
      NOW,
    );
    expect(identity?.expiresAt).toBe(NOW + 3_600_000);
    expect(identity?.rights.has('results:write')).toBe(true);
    expect(identity?.rights.has('admin')).toBe(false);
    expect(identity?.name).toBe('github:acme/app#74:pull_request:refs/pull/5/merge:run-900');
  });
});

function job(source: string, ref: string, more: Claims = {}): Claims {
  return {
    project_id: '20',
    project_path: 'acme/app',
    namespace_id: '72',
    pipeline_id: '574',
    pipeline_source: source,
    ref,
    ref_type: 'branch',
    ref_path: `refs/heads/${ref}`,
    ref_protected: 'false',
    user_login: 'octocat',
    sub: 'project_path:acme/app:ref_type:branch:ref:main',
    ...more,
  };
}

const MERGE_REQUEST = ['acme/app/pr/pipeline-574', 'acme/app/main'];

describe('the usual rules of a project of GitLab', () => {
  test.each([
    ['push to main', job('push', 'main'), ['acme/app/main']],
    ['push to a branch', job('push', 'x/y'), ['acme/app/branch/x_2fy', 'acme/app/main']],
    [
      'push of a tag called main',
      job('push', 'main', { ref_type: 'tag', ref_path: 'refs/tags/main' }),
      ['acme/app/tag/main', 'acme/app/main'],
    ],
    ['schedule', job('schedule', 'main'), ['acme/app/main']],
    ['web', job('web', 'x'), ['acme/app/branch/x', 'acme/app/main']],
    ['merge request', job('merge_request_event', 'x'), MERGE_REQUEST],
    ['merge request from a branch called main', job('merge_request_event', 'main'), MERGE_REQUEST],
    [
      'merge request by its ref',
      job('push', 'main', { ref_path: 'refs/merge-requests/7/head' }),
      MERGE_REQUEST,
    ],
    ['external pull request', job('external_pull_request_event', 'main'), MERGE_REQUEST],
    ['child pipeline of an unknown parent', job('parent_pipeline', 'main'), MERGE_REQUEST],
    [
      'child pipeline of a protected branch',
      job('parent_pipeline', 'main', { ref_protected: 'true' }),
      ['acme/app/main'],
    ],
    ['chat', job('chat', 'main'), MERGE_REQUEST],
    ['a source that does not exist yet', job('telepathy', 'main'), MERGE_REQUEST],
    ['no source', job('', 'main'), MERGE_REQUEST],
  ])('%s', (_name, claims, place) => {
    expect(placeOf(gitlab(), claims)).toEqual(place);
  });

  test.each([
    ['a fork', job('merge_request_event', 'main', { project_id: '21', namespace_id: '99' })],
    ['another namespace', job('push', 'main', { namespace_id: '73' })],
    ['no type of ref', job('push', 'main', { ref_type: '' })],
    ['no pipeline', job('merge_request_event', 'main', { pipeline_id: '' })],
  ])('give nothing to %s', (_name, claims) => {
    expect(placeOf(gitlab(), claims)).toBeUndefined();
  });

  test('take an unprotected main branch for another branch, where protection is asked for', () => {
    const issuer = gitlab({ projects: [{ ...PROJECT, protected: true }] });
    expect(placeOf(issuer, job('push', 'main', { ref_protected: 'true' }))).toEqual(['acme/app/main']);
    expect(placeOf(issuer, job('push', 'main', { ref_protected: true }))).toEqual(['acme/app/main']);
    expect(placeOf(issuer, job('push', 'main'))).toEqual(['acme/app/branch/main', 'acme/app/main']);
  });
});

describe('a rule of one’s own', () => {
  const rule = { when: { repository_id: 74 }, namespace: 'acme/app/main', reads: ['acme/shared'] };

  test.each([
    ['push', run('push', 'refs/heads/x'), ['acme/app/main', 'acme/shared']],
    [
      'pull_request',
      run('pull_request', 'refs/pull/5/merge', PULL),
      ['acme/app/pr/74-5', 'acme/app/main', 'acme/shared'],
    ],
    [
      'pull_request_target',
      run('pull_request_target', 'refs/heads/main', PULL),
      ['acme/app/pr/74-run-900', 'acme/app/main', 'acme/shared'],
    ],
    [
      'issue_comment',
      run('issue_comment', 'refs/heads/main'),
      ['acme/app/pr/74-run-900', 'acme/app/main', 'acme/shared'],
    ],
    [
      'workflow_run',
      run('workflow_run', 'refs/heads/main'),
      ['acme/app/pr/74-run-900', 'acme/app/main', 'acme/shared'],
    ],
  ])('%s', (_name, claims, place) => {
    expect(placeOf(github({ rules: [rule] }), claims)).toEqual(place);
  });

  test('that names an untrusted event still gives it a namespace of its own', () => {
    const rules = ['pull_request', 'pull_request_target', 'issue_comment', 'workflow_run'].map(
      (event_name) => ({
        when: { repository_id: '74', event_name },
        namespace: 'acme/app/main',
      }),
    );
    for (const { when } of rules) {
      const place = placeOf(github({ rules }), run(when.event_name, 'refs/heads/main'));
      expect(place?.[0]).toBe('acme/app/pr/74-run-900');
    }
  });

  test('that says trust gives every event the same namespace', () => {
    const issuer = github({ rules: [{ ...rule, trust: true }] });
    expect(placeOf(issuer, run('workflow_run', 'refs/heads/main'))).toEqual(['acme/app/main', 'acme/shared']);
    expect(placeOf(issuer, run('pull_request_target', 'refs/heads/main'))?.[0]).toBe('acme/app/main');
  });

  test('takes admin from an untrusted event', () => {
    const issuer = github({ rules: [{ ...rule, rights: ['results:read', 'admin', 'server:stats'] }] });
    const rightsOf = (claims: Claims) => identityFor(issuer.rules, { ...issuer, claims }, NOW)?.rights;
    expect(rightsOf(run('push', 'refs/heads/x'))).toEqual(new Set(['results:read', 'admin', 'server:stats']));
    expect(rightsOf(run('pull_request', 'refs/pull/5/merge'))).toEqual(new Set(['results:read']));
  });

  test('keeps pull requests of two repositories apart', () => {
    const issuer = github({
      rules: [
        { when: { repository_id: 74 }, namespace: 'acme/one' },
        { when: { repository_id: 75 }, namespace: 'acme/two' },
      ],
    });
    const pull = run('pull_request', 'refs/pull/5/merge');
    expect(placeOf(issuer, pull)?.[0]).toBe('acme/pr/74-5');
    expect(placeOf(issuer, { ...pull, repository_id: '75' })?.[0]).toBe('acme/pr/75-5');
  });

  test('puts pull requests beside the first claim of its namespace', () => {
    const issuer = github({
      rules: [{ when: { repository_owner_id: 65 }, namespace: 'acme/{repository_id}/{ref}' }],
    });
    expect(placeOf(issuer, run('push', 'refs/heads/x'))).toEqual(['acme/74/refs_2fheads_2fx']);
    expect(placeOf(issuer, run('pull_request', 'refs/pull/5/merge'))?.[0]).toBe('acme/pr/74-5');
  });

  test('is the first that applies, before the usual ones', () => {
    const rules = [
      {
        when: { repository_id: 74, ref: 'refs/heads/release/*' },
        namespace: 'acme/release/{ref}',
        minutes: 10,
      },
      { when: { repository_id: [73, 74], environment: 'production' }, namespace: 'acme/production/x' },
    ];
    const issuer = github({ rules, repositories: [REPOSITORY] });
    expect(placeOf(issuer, run('push', 'refs/heads/release/2'))?.[0]).toBe(
      'acme/release/refs_2fheads_2frelease_2f2',
    );
    expect(placeOf(issuer, run('push', 'refs/heads/main', { environment: 'production' }))?.[0]).toBe(
      'acme/production/x',
    );
    expect(placeOf(issuer, run('push', 'refs/heads/main'))?.[0]).toBe('acme/app/main');
  });

  test('of another kind of issuer knows the events of GitHub and GitLab if the token has them', () => {
    const [issuer] = issuersOf({
      issuer: 'https://ci.example',
      kind: 'generic',
      audience: 'here',
      rules: [{ when: { pipeline: 'app' }, namespace: 'acme/app/main' }],
    });
    if (!issuer) throw new Error('no issuer');
    expect(placeOf(issuer, { pipeline: 'app' })).toEqual(['acme/app/main']);
    const forgejo = { pipeline: 'app', event_name: 'pull_request', repository_id: 3, run_id: 4 };
    expect(placeOf(issuer, forgejo)?.[0]).toBe('acme/app/pr/3-run-4');
    expect(placeOf(issuer, { pipeline: 'app', pipeline_source: 'merge_request_event' })).toBeUndefined();
  });
});

describe('no pull request gets a namespace that a trusted run reads or writes', () => {
  const events = [
    'pull_request',
    'pull_request_target',
    'pull_request_review',
    'issue_comment',
    'workflow_run',
    'merge_group',
  ];
  const names = [
    'main',
    'pr',
    'pr/5',
    '../main',
    'refs/pull/5/merge',
    'x'.repeat(300),
    '_70r',
    'run-900',
    'é',
  ];
  const refs = [
    ...names.map((name) => `refs/heads/${name}`),
    ...names.map((name) => `refs/tags/${name}`),
    'refs/pull/5/merge',
  ];
  const rules = [
    { when: { repository_id: 74, ref: 'refs/heads/x*' }, namespace: 'acme/{ref}/{head_ref}' },
    { when: { repository_id: 74, head_ref: '*' }, namespace: 'acme/app/{head_ref}', reads: ['acme/{ref}'] },
  ];

  test.each([
    ['usual rules', github()],
    ['own rules', github({ rules, repositories: [REPOSITORY] })],
  ])('%s', (_name, issuer) => {
    const all = [...events, 'push', 'schedule', 'workflow_dispatch'].flatMap((event) =>
      refs.flatMap((ref) => names.map((head_ref) => run(event, ref, { head_ref, base_ref: head_ref }))),
    );
    const places = all.flatMap((claims) => {
      const [namespace = '', ...reads] = placeOf(issuer, claims) ?? [];
      const isUntrusted =
        events.includes(String(claims.event_name)) || String(claims.ref).startsWith('refs/pull/');
      return namespace === '' ? [] : [{ namespace, reads, isUntrusted }];
    });
    const untrusted = new Set(places.filter((place) => place.isUntrusted).map(({ namespace }) => namespace));
    const trusted = places.filter((place) => !place.isUntrusted);
    const touched = new Set(trusted.flatMap(({ namespace, reads }) => [namespace, ...reads]));
    const withAncestors = [...touched].flatMap((one) =>
      one.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/')),
    );
    expect(untrusted.size).toBeGreaterThan(1);
    expect(trusted.length).toBeGreaterThan(100);
    expect(withAncestors.filter((one) => untrusted.has(one))).toEqual([]);
    expect([...untrusted].filter((one) => !/^acme\/(app\/)?pr\/[0-9a-z-]+$/.test(one))).toEqual([]);
    expect(withAncestors.filter((one) => one.split('/').includes('pr'))).toEqual([]);
  });
});

describe('a configuration is refused', () => {
  const rule = { when: { repository_id: 74 }, namespace: 'acme/app/main' };
  const bad: readonly (readonly [string, object, string])[] = [
    [
      'sub',
      { rules: [{ ...rule, when: { repository_id: 74, sub: 'repo:acme/*' } }] },
      'can be given another form',
    ],
    ['actor', { rules: [{ ...rule, when: { repository_id: 74, actor: 'octocat' } }] }, 'not which code runs'],
    ['sub in a namespace', { rules: [{ ...rule, namespace: 'acme/{sub}' }] }, 'can be given another form'],
    ['actor in reads', { rules: [{ ...rule, reads: ['acme/{actor}'] }] }, 'not which code runs'],
    [
      'no number',
      { rules: [{ ...rule, when: { repository: 'acme/app' } }] },
      'names can be registered by anybody',
    ],
    [
      'a pattern for a number',
      { rules: [{ ...rule, when: { repository_id: '7*' } }] },
      'names can be registered by anybody',
    ],
    ['no condition', { rules: [{ ...rule, when: {} }] }, 'at least one claim'],
    ['an empty list', { rules: [{ ...rule, when: { repository_id: [] } }] }, 'matches nothing'],
    ['an empty value', { rules: [{ ...rule, when: { repository_id: '' } }] }, 'matches nothing'],
    ['one part', { rules: [{ ...rule, namespace: 'acme' }] }, 'a place beside it in the same tenant'],
    [
      'a tenant from a claim',
      { rules: [{ ...rule, namespace: '{repository_owner}/main' }] },
      'a place beside it in the same tenant',
    ],
    ['the part pr', { rules: [{ ...rule, namespace: 'acme/pr/main' }] }, 'kept for pull requests'],
    ['reads of pr', { rules: [{ ...rule, reads: ['acme/app/pr/5'] }] }, 'kept for pull requests'],
    [
      'too many reads',
      { rules: [{ ...rule, reads: Array.from({ length: 9 }, (_, number) => `acme/${number}`) }] },
      'at most 8',
    ],
    ['too few minutes', { rules: [{ ...rule, minutes: 9 }] }, 'from 10 to 60'],
    ['too many minutes', { rules: [{ ...rule, minutes: 61 }] }, 'from 10 to 60'],
    ['unknown rights', { rules: [{ ...rule, rights: 'everything' }] }, 'one of read, write, read-write'],
    ['an unknown right', { rules: [{ ...rule, rights: ['everything'] }] }, 'one of results:read'],
    ['no rights', { rules: [{ ...rule, rights: [] }] }, 'at least one right'],
    ['an unknown field', { rules: [{ ...rule, trusted: true }] }, 'did you mean trust?'],
    ['no rules', {}, 'without a rule'],
    ['no audience', { rules: [rule], audience: [] }, 'at least one text'],
    ['an empty audience', { rules: [rule], audience: '' }, 'at least one text'],
    ['http', { rules: [rule], issuer: 'http://token.example' }, 'https://'],
    ['http for keys', { rules: [rule], jwks: 'http://token.example/keys' }, 'https://'],
    ['projects of GitHub', { projects: [PROJECT] }, 'kind gitlab'],
    [
      'the same repository twice',
      { repositories: [REPOSITORY, { ...REPOSITORY, namespace: 'acme/b' }] },
      'same id',
    ],
    [
      'the same namespace twice',
      { repositories: [REPOSITORY, { ...REPOSITORY, id: 75 }] },
      'that of another entry',
    ],
    [
      'one namespace in another',
      { repositories: [REPOSITORY, { ...REPOSITORY, id: 75, namespace: 'acme/app/branch' }] },
      'one is in the other',
    ],
    ['every branch as main', { repositories: [{ ...REPOSITORY, main: 'refs/heads/*' }] }, 'a branch such as'],
    [
      'a short main branch',
      { repositories: [{ ...REPOSITORY, main: 'main' }] },
      'a branch such as "refs/heads/main"',
    ],
    ['an id as text', { repositories: [{ ...REPOSITORY, id: '74' }] }, 'a whole number'],
    [
      'claims in a repository’s namespace',
      { repositories: [{ ...REPOSITORY, namespace: 'acme/{ref}' }] },
      'has no claims',
    ],
  ];

  test.each(bad)('%s', (_name, more, why) => {
    expect(() => github(more)).toThrow(why);
  });

  test('that has an issuer twice, or lets two issuers share pull requests', () => {
    const one = { issuer: GITHUB, kind: 'github', audience: 'here', rules: [rule] };
    expect(() => issuersOf(one, one)).toThrow('the same URL');
    expect(() => issuersOf(one, { ...one, issuer: 'https://ghes.example' })).toThrow(
      'pull requests of two issuers',
    );
  });
});

test('a configuration says where pull requests write, each place once', () => {
  const repositories = [REPOSITORY, { ...REPOSITORY, id: 75, namespace: 'globex/lib' }];
  const text = JSON.stringify([{ issuer: GITHUB, kind: 'github', audience: 'here', repositories }]);
  const { pullRequests } = new OidcIssuers().parse(parseDocument({ file: 'config.json', text }));
  expect(pullRequests).toEqual(['acme/app/pr', 'globex/lib/pr']);
});

test('a pattern', () => {
  const table: readonly (readonly [string, string, boolean])[] = [
    ['main', 'main', true],
    ['main', 'main2', false],
    ['*', '', true],
    ['refs/heads/*', 'refs/heads/a/b', true],
    ['refs/heads/*', 'refs/tags/a', false],
    ['*/main', 'x/main', true],
    ['*/main', 'main', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*b*c', 'axxbyyc', true],
    ['a*b*c', 'axxcyyb', false],
    ['ab*ba', 'aba', false],
    ['.*', 'xmain', false],
    ['**', 'x', true],
  ];
  expect(table.filter(([pattern, text, expected]) => matches(pattern, text) !== expected)).toEqual([]);
  expect(matches(`${'*a'.repeat(50)}*b`, 'a'.repeat(16_000))).toBe(false);
});
