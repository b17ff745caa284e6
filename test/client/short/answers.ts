// Checks short answers against their schema, and that they fit.
import { Ajv } from 'ajv';
import { expect } from 'vitest';
import schema from '../../../client/short/answers.schema.json' with { type: 'json' };

const check = new Ajv().compile(schema);

/** The answer, if it is one line of less than 2 KiB without control characters, and as the schema says. */
export function answerIn(line: string): Record<string, unknown> {
  expect(Buffer.byteLength(line)).toBeLessThan(2048);
  expect(line.endsWith('\n')).toBe(true);
  const answer: unknown = JSON.parse(line);
  check(answer);
  expect(check.errors).toBe(null);
  expect(textsIn(answer).filter((text) => /[\p{Cc}\p{Zl}\p{Zp}\u202e]/u.test(text))).toEqual([]);
  return isRecord(answer) ? answer : {};
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
