import { plainDoor, Stage } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';

let stage: Stage;
afterEach(() => stage.close());

it('tells of a failure in the words of the door too, and of nothing else', async () => {
  stage = await Stage.open({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) =>
      messages[0]?.role === 'user' && messages[0].text === 'fail'
        ? { error: { code: 'broken', message: 'It broke.', retryable: false } }
        : { text: 'Fine.' },
    work: { doors: [{ ...plainDoor, failEvents: ['plain.failed'] }] },
  });
  const snapshot = await stage.snapshot();
  const failed = await stage.play(snapshot, 'fail');
  expect(failed.status).toBe('failed');
  expect((await stage.events(failed.thread)).slice(-2)).toMatchObject([
    { type: 'plain.failed', data: { code: 'broken', message: 'It broke.' } },
    { type: 'run.failed', data: { code: 'broken', message: 'It broke.' } },
  ]);
  const fine = await stage.play(snapshot, 'go');
  expect((await stage.events(fine.thread)).map(({ type }) => type)).not.toContain('plain.failed');
});
