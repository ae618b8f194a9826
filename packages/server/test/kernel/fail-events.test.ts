import { type KernelFixture, openKernel, plainDoor } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';

let fixture: KernelFixture;
afterEach(() => fixture.close());

it('tells of a failure in the words of the door too, and of nothing else', async () => {
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) =>
      messages[0]?.role === 'user' && messages[0].text === 'fail'
        ? { error: { code: 'broken', message: 'It broke.', retryable: false } }
        : { text: 'Fine.' },
    work: { doors: [{ ...plainDoor, failEvents: ['plain.failed'] }] },
  });
  const snapshot = await fixture.snapshot();
  const failed = await fixture.play(snapshot, { text: 'fail' });
  expect(failed.status).toBe('failed');
  expect((await fixture.events(failed.thread)).slice(-2)).toMatchObject([
    { type: 'plain.failed', data: { code: 'broken', message: 'It broke.' } },
    { type: 'run.failed', data: { code: 'broken', message: 'It broke.' } },
  ]);
  const fine = await fixture.play(snapshot, { text: 'go' });
  expect((await fixture.events(fine.thread)).map(({ type }) => type)).not.toContain('plain.failed');
});
