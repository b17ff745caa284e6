// The unit and the compose file of a fleet: systemd and a YAML parser accept them, and they start what Assay has.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseFlags } from '../../../core/cli/command.ts';
import { SERVE_FLAGS } from '../../../server/config/flags.ts';
import { SERVER } from '../../../server/limits.ts';

const FOLDER = join(import.meta.dirname, '../../../examples/fleet');
const STOP_SECONDS = (SERVER.noticeMs + SERVER.drainMs) / 1000;

/** Throws if `assay serve` has no such flag. */
function checkServe([command, ...args]: readonly string[]): void {
  expect(command).toBe('serve');
  expect(parseFlags(args, SERVE_FLAGS).text('tier')).toBe('/var/cache/assay');
}

test('systemd accepts the unit, and gives the server the time that it takes to stop', () => {
  const file = join(FOLDER, 'assay.service');
  const said = execFileSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
  expect(said).toBe('');
  const unit = readFileSync(file, 'utf8');
  const words =
    /^ExecStart=\/usr\/bin\/env assay (.*)$/m.exec(unit)?.[1]?.replaceAll('%%', '%').split(' ') ?? [];
  checkServe(words);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(STOP_SECONDS);
  expect(unit).not.toMatch(/^Environment=/m);
});

test('the compose file migrates first, starts two servers, and holds no secret', () => {
  const text = readFileSync(join(FOLDER, 'compose.yaml'), 'utf8');
  const { services } = parse(text, { merge: true });
  expect(Object.keys(services)).toEqual(['migrate', 'one', 'two']);
  expect(services.migrate.command).toEqual(['db', 'migrate']);
  for (const server of [services.one, services.two]) {
    checkServe(server.command);
    expect(server.depends_on.migrate.condition).toBe('service_completed_successfully');
    expect(Number.parseInt(server.stop_grace_period, 10)).toBeGreaterThan(STOP_SECONDS);
    expect(server.environment).toBeUndefined();
  }
});
