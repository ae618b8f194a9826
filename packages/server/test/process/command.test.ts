import { expect, test } from 'vitest';
import { Troupe } from './fixture.ts';

test('--help and --version', async () => {
  const help = new Troupe('--help', {});
  expect(await help.exit).toBe(0);
  expect(help.output).toMatch(/^Usage: .*dev.*serve.*work.*migrate/s);
  const version = new Troupe('--version', {});
  expect(await version.exit).toBe(0);
  expect(version.output).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  ['fly', 'there is no command "fly"'],
  ['constructor', 'there is no command "constructor"'],
  ['serve now', 'serve takes no arguments'],
])('%s is refused with the usage', async (command, problem) => {
  const troupe = new Troupe(command, {});
  expect(await troupe.exit).toBe(1);
  expect(troupe.errors).toContain(`error: ${problem}\n\nUsage:`);
});

test.each(['serve', 'work', 'migrate'])('%s without DATABASE_URL says what to do', async (command) => {
  const troupe = new Troupe(command, {});
  expect(await troupe.exit).toBe(1);
  expect(troupe.errors).toMatch(/^error: .*DATABASE_URL is not set\.\n {2}Set DATABASE_URL.*dev/);
});

test('settings that cannot be used are told without a stack', async () => {
  const troupe = new Troupe('dev', { PORT: 'x', LOG_LEVEL: 'loud' });
  expect(await troupe.exit).toBe(1);
  expect(troupe.errors).toMatch(/^error: The settings .*PORT.*LOG_LEVEL.*\n {2}Correct.*\n$/);
});
