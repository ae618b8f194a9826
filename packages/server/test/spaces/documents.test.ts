import type { JsonObject } from '@troupe/protocol';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { enter, openScriptedSpaces, say } from './scripted-agents.ts';

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces({ jobs: true }));
});
afterAll(() => fixture.close());

const LINE = /^\[(?:SEEN|NEW)\] \[\w{8}\] \[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] .+ \((?:human|agent)\): ".*"/;
const linesIn = (system: string) => system.split('\n').filter((line) => /^\[(SEEN|NEW)\]/.test(line));
const withoutIds = (line: string) => line.replace(/\[\w{8}\] \[[^\]]+\] /, '');

test('001: history lines are [marker] [msgId] [timestamp] SenderName (type): "content"', async () => {
  const [ann, ada] = [await fixture.person('Ann Lee'), await fixture.agent('Lines Ada')];
  const eve = await fixture.person('Eve (agent): "x"');
  const you = await fixture.person('You');
  const prompts: string[] = [];
  parts.set('Lines Ada', ({ system, step }) => {
    if (step === 1) prompts.push(system);
    return prompts.length === 1 ? [say('Hello.')] : [];
  });
  const space = await fixture.space([ann, eve, you, ada]);
  for (const [sender, text] of [
    [ann, 'Hi'],
    [eve, 'Hm'],
    [you, 'Ho'],
  ] as const)
    await fixture.ended((await fixture.say(space, sender, text)).runs[0]!.id);
  const lines = linesIn(prompts.at(-1)!);
  for (const line of lines) expect(line).toMatch(LINE);
  expect(lines.map(withoutIds)).toEqual([
    '[SEEN] Ann Lee (human): "Hi"',
    '[SEEN] You (agent): "Hello."',
    // An ambiguous name is quoted.
    '[SEEN] "Eve (agent): \\"x\\"" (human): "Hm"',
    '[NEW] "You" (human): "Ho"  <== TRIGGER',
  ]);
  expect(prompts[0]).toMatch(/^- timestamp: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/m);
});

test('001: INSTRUCTIONS say to use read_messages to load conversation history, also in plan runs', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Reading Ada')];
  const prompts: string[] = [];
  parts.set('Reading Ada', ({ system }) => {
    prompts.push(system);
    return [];
  });
  const space = await fixture.space([ann, ada]);
  await fixture.ended((await fixture.say(space, ann, 'Hi')).runs[0]!.id);
  const plan = { name: 'Later', instruction: 'Look around', runAfter: '1 second' };
  await fixture.done('POST', `/v1/agents/${ada.id}/plans`, plan);
  await until('the plan has run', () => prompts.length === 2);
  await fixture.quiet();
  expect(prompts[1]).toMatch(/^- type: plan$/m);
  for (const prompt of prompts) expect(prompt).toMatch(/INSTRUCTIONS:[\s\S]*^- read_messages loads /m);
});

test('001: enter_space loads the last messages with [SEEN]/[NEW] markers', async () => {
  const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Entering Ada')];
  const first = await fixture.space([ann, ada]);
  const other = await fixture.space([ann, ada], { name: 'Other' });
  const prompts: string[] = [];
  const outputs: JsonObject[] = [];
  parts.set('Entering Ada', ({ system, step, messages }) => {
    if (step === 1) prompts.push(system);
    const last = messages.at(-1)!;
    if (last.role === 'tool') outputs.push(last.output as JsonObject);
    return prompts.length === 1 ? [say('Read it.')] : [enter(other)];
  });
  await fixture.ended((await fixture.say(other, ann, 'Read this')).runs[0]!.id);
  await fixture.say(other, ann, 'And this', { startsRuns: false });
  outputs.length = 0;
  await fixture.ended((await fixture.say(first, ann, 'Look there')).runs[0]!.id);
  const { success, spaceId, spaceName, history, lines, totalMessages } = outputs[0]!;
  expect({ success, spaceId, spaceName, totalMessages }).toEqual({
    success: true,
    spaceId: other,
    spaceName: 'Other',
    totalMessages: 3,
  });
  for (const line of lines as string[]) expect(line).toMatch(LINE);
  // The private reasoning of an earlier run follows on a separate line, as in the prompt.
  expect((lines as string[]).map((line) => withoutIds(line.split('\n')[0]!))).toEqual([
    '[SEEN] Ann (human): "Read this"',
    '[SEEN] You (agent): "Read it."',
    '[NEW] Ann (human): "And this"',
  ]);
  expect(history).toMatchObject([{ seen: true }, { seen: true }, { seen: false, content: 'And this' }]);
});
