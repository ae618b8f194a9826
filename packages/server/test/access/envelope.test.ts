import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Encryption } from '../../src/access/index.ts';
import { Refusal } from '../../src/base/index.ts';
import { encryptionKey } from './fixture.ts';

test('what is sealed opens under its project and name only', () => {
  const encryption = new Encryption([encryptionKey()]);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (value, project, name) => {
      const envelope = JSON.parse(JSON.stringify(encryption.seal(project, name, value)));
      expect(encryption.open(project, name, envelope)).toBe(value);
      for (const [otherProject, otherName] of [
        [`${project}x`, name],
        [project, `${name}x`],
        [`${project}${name}`, ''],
        [name, `${project}.`],
      ] as const) {
        if (otherProject === project && otherName === name) continue;
        expect(() => encryption.open(otherProject, otherName, envelope)).toThrow(
          expect.objectContaining({ code: 'envelope_broken' }),
        );
      }
    }),
  );
});

test('two envelopes of one value have nothing in common', () => {
  const encryption = new Encryption([encryptionKey()]);
  const [one, two] = [encryption.seal('p', 'n', 'same'), encryption.seal('p', 'n', 'same')];
  expect(one.wrapped).not.toBe(two.wrapped);
  expect(one.value).not.toBe(two.value);
  expect(JSON.stringify(one)).not.toContain(Buffer.from('same').toString('base64'));
});

test('a changed bit anywhere is noticed', () => {
  const encryption = new Encryption([encryptionKey()]);
  const envelope = encryption.seal('p', 'n', 'a secret');
  for (const part of ['wrapped', 'value'] as const) {
    const bytes = Buffer.from(envelope[part], 'base64');
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed[i]! ^= 1;
      expect(() => encryption.open('p', 'n', { ...envelope, [part]: changed.toString('base64') })).toThrow(
        expect.objectContaining({ code: 'envelope_broken' }),
      );
    }
    expect(() => encryption.open('p', 'n', { ...envelope, [part]: '' })).toThrow(/./);
  }
  // The halves of two envelopes do not go together.
  const other = encryption.seal('p', 'n', 'another');
  expect(() => encryption.open('p', 'n', { ...envelope, value: other.value })).toThrow(/changed/);
  for (const none of [null, 'x', {}, { key: 1 }])
    expect(() => encryption.open('p', 'n', none)).toThrow(/no envelope/);
});

test('keys have versions: the old ones open, the new one seals, an unknown one is named', () => {
  const [v1, v2] = [encryptionKey('v1'), encryptionKey('v2')];
  const before = new Encryption([v1]).seal('p', 'n', 'kept');
  const both = new Encryption([v2, v1]);
  expect(both.open('p', 'n', before)).toBe('kept');
  expect(both.seal('p', 'n', 'x').key).toBe('v2');
  const rewrapped = both.rewrap(before);
  expect(new Encryption([v2]).open('p', 'n', rewrapped)).toBe('kept');
  expect(() => new Encryption([v2]).open('p', 'n', before)).toThrow(
    expect.objectContaining({ code: 'unknown_encryption_key', message: expect.stringContaining('"v1"') }),
  );
  // Another key under the same name.
  expect(() => new Encryption([{ ...v2, id: 'v1' }]).open('p', 'n', before)).toThrow(/does not fit/);
});

test('without a key nothing is sealed, and what to do is said', () => {
  const none = new Encryption([]);
  expect(() => none.seal('p', 'n', 'x')).toThrow(Refusal);
  expect(() => none.seal('p', 'n', 'x')).toThrow(
    expect.objectContaining({
      code: 'no_encryption_key',
      hint: expect.stringContaining('TROUPE_ENCRYPTION_KEY'),
    }),
  );
});
