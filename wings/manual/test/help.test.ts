// What `assay help` prints are the pages of this version, in each form in which Assay is run; and what help and errors
// name is a page.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../../core/errors.ts';
import { FORMS, RUNTIME_FORMS, runProcess } from '../../../test/rig/assay.ts';
import { helpCommand } from '../help/command.ts';
import { readPages } from '../help/pages.ts';
import { pageFor, topicsOf } from '../help/topics.ts';

const ROOT = join(import.meta.dirname, '../../..');
const pages = readPages();

test('each page has a topic of its own and a title', () => {
  const topics = topicsOf(pages);
  const names = topics.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['readme', 'install', 'steps', 'tool-caches', 'fleet']));
  expect(new Set(names).size).toBe(names.length);
  for (const { name, title } of topics) {
    expect(title).not.toBe('');
    expect(helpCommand.help.text).toContain(`  ${name} `);
  }
});

test('a page is asked for by its name, or by the path that another page names', () => {
  const steps = readFileSync(join(ROOT, 'docs/STEPS.md'), 'utf8');
  for (const asked of ['steps', 'STEPS', 'docs/STEPS.md']) expect(pageFor(asked, pages)).toBe(steps);
  const guide = readFileSync(join(ROOT, 'wings/doctor/GUIDE.md'), 'utf8');
  expect(pageFor('wings/doctor/GUIDE.md', pages)).toBe(guide);
});

test('an error code has what it means and what to do', () => {
  for (const [code, { summary, hint }] of Object.entries(ERRORS)) {
    expect(pageFor(code, pages)).toContain(`## ${code}\n\n${summary}\n\n- What to do: ${hint}\n`);
    expect(pageFor(code.toLowerCase(), pages).match(/^## /gm)).toHaveLength(1);
  }
});

test('what its own help and guide ask for is there', () => {
  const guide = pages.get('wings/manual/GUIDE.md') ?? '';
  const asked = [...[...helpCommand.help.examples, guide].join('\n').matchAll(/assay help (\S+)/g)].map(
    ([, topic = '']) => topic,
  );
  const topics = asked.filter((topic) => !/^(?:run|doctor|COMMAND|--help`?)$/.test(topic.replace(/`$/, '')));
  expect(topics.length).toBeGreaterThan(5);
  for (const topic of topics) expect(pageFor(topic.replace(/`$/, ''), pages)).not.toBe('');
});

test('a page that is not there is refused, with the nearest one', () => {
  const refusal = {
    code: 'ASSAY_USAGE',
    detail: expect.stringMatching(/no page "protocol"; did you mean protocols\?/),
  };
  expect(() => pageFor('protocol', pages)).toThrow(expect.objectContaining(refusal));
  expect(() => pageFor('ASSAY_', pages)).toThrow('no page "ASSAY_"');
});

describe.each(RUNTIME_FORMS)('%s', (form) => {
  const help = (...args: string[]) => runProcess([...FORMS[form], 'help', ...args], { cwd: '/', env: {} });

  test('prints a page', async () => {
    const install = readFileSync(join(ROOT, 'docs/INSTALL.md'), 'utf8');
    expect(await help('install')).toMatchObject({ code: 0, stdout: install, stderr: '' });
  });

  test('describes a command, also one of two words', async () => {
    expect((await help('run')).stdout).toMatch(/^Usage: assay run /);
    expect((await help('store', 'backup')).stdout).toMatch(/^Usage: assay store backup /);
    expect((await help('help')).stdout).toMatch(/^Usage: assay help /);
  });

  test('alone lists the commands, and refuses what is neither a command nor a page', async () => {
    expect((await help()).stdout).toMatch(/\n {2}help +print a page/);
    expect(await help('nothing-like-it')).toMatchObject({ code: 2, stdout: '' });
  });
});

test('what errors, help and pages of the server tell to read is a command that prints it', async () => {
  const commands = [...(await printed('--help')).matchAll(/^ {2}([a-z][a-z-]*(?: [a-z-]+)?) {2,}\S/gm)];
  const helps = await Promise.all(commands.map(([, name = '']) => printed(...name.split(' '), '--help')));
  const hints = Object.values(ERRORS).map(({ hint }) => hint);
  const sources = ['server/pages/front-page.ts', 'wings/doctor/server.ts'].map(withoutComments);
  const texts = [...hints, ...helps, ...sources].join('\n');
  const named = [...texts.matchAll(/`assay help ([a-z-]+)`/g)].map(([, topic = '']) => topic);
  expect(named.length).toBeGreaterThan(5);
  for (const topic of named) expect(pageFor(topic, pages)).not.toBe('');
  const ofHelpItself = /such as docs\/SERVER\.md/;
  expect(texts.replace(ofHelpItself, '').match(/(?:docs|wings)\/\S+\.md/g)).toBeNull();
});

function withoutComments(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(/^ *(?:\/\*\*|\*|\/\/).*$/gm, '');
}

async function printed(...args: string[]): Promise<string> {
  const { code, stdout } = await runProcess([...FORMS[RUNTIME_FORMS[0] ?? 'source'], ...args], {
    cwd: '/',
    env: {},
  });
  expect(code).toBe(0);
  return stdout;
}
