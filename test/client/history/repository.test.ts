// The names of repositories and branches in reports.
import { expect, test } from 'vitest';
import { checkedOut, repositoryNameOf } from '../../../client/history/repository.ts';

test.each([
  ['https://github.com/acme/app.git', 'github.com/acme/app'],
  ['https://user:secret@github.com/acme/app', 'github.com/acme/app'],
  ['git@github.com:acme/app.git', 'github.com/acme/app'],
  ['ssh://git@git.example:2222/acme/app.git/', 'git.example:2222/acme/app'],
  ['https://git.example/acme/app?token=secret', 'git.example/acme/app'],
  ['/srv/git/app.git', undefined],
  ['../app', undefined],
  ['', undefined],
])('%j is %j', (address, name) => {
  expect(repositoryNameOf(address) || undefined).toBe(name);
});

test('a CI job names both', () => {
  const variables = {
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'acme/app',
    GITHUB_HEAD_REF: 'fix',
    GITHUB_REF_NAME: '7/merge',
  };
  expect(checkedOut('/', variables)).toEqual({ repository: 'github.com/acme/app', branch: 'fix' });
  expect(checkedOut('/', {})).toEqual({});
});
