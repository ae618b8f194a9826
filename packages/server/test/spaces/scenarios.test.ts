import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { end, enter, gate, marksIn, openScriptedSpaces, say, triggerIn } from './scripted-agents.ts';

// Every row of the source's table of scenarios, under its own name, over HTTP.

let { fixture, parts } = {} as Awaited<ReturnType<typeof openScriptedSpaces>>;
beforeAll(async () => {
  ({ fixture, parts } = await openScriptedSpaces({ jobs: true }));
});
afterAll(() => fixture.close());

describe('Test Scenarios', () => {
  test('Human sends message in space with 1 agent', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('One Ada')];
    parts.set('One Ada', () => [say('Hello Ann.')]);
    const space = await fixture.space([ann, ada]);
    const posted = await fixture.say(space, ann, 'Hello?');
    expect(posted.runs.map(({ entityId, outcome }) => [entityId, outcome])).toEqual([
      [ada.entityId, 'started'],
    ]);
    const run = await fixture.ended(posted.runs[0]!.id);
    expect(run).toMatchObject({
      status: 'completed',
      triggerType: 'space_message',
      triggerMessageId: posted.id,
      spaceId: space,
      outcome: { silent: false },
    });
    expect(await fixture.lines(space)).toEqual(['Ann: Hello?', 'One Ada: Hello Ann.']);
  });

  test('Human sends message in space with 3 agents', async () => {
    const ann = await fixture.person('Ann');
    const agents = await Promise.all(['Three A', 'Three B', 'Three C'].map((name) => fixture.agent(name)));
    const space = await fixture.space([ann, ...agents]);
    const { runs } = await fixture.say(space, ann, 'Anyone?');
    expect(new Set(runs.map(({ entityId }) => entityId))).toEqual(new Set(agents.map((one) => one.entityId)));
    const ended = await Promise.all(runs.map(({ id }) => fixture.ended(id)));
    expect(ended.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(new Set(ended.map(({ threadId }) => threadId)).size).toBe(3);
  });

  test('Agent sends message in space with 2 other agents', async () => {
    const ann = await fixture.person('Ann');
    const agents = await Promise.all(['Two A', 'Two B', 'Two C'].map((name) => fixture.agent(name)));
    parts.set('Two A', ({ system }) => (triggerIn(system) === 'Go' ? [say('I went.')] : []));
    const space = await fixture.space([ann, ...agents], { policy: 'all' });
    await fixture.say(space, ann, 'Go');
    await fixture.quiet();
    const second = (await fixture.messages(space)).find(({ content }) => content.text === 'I went.')!;
    const runs = (await fixture.runs(space)).filter(({ triggerMessageId }) => triggerMessageId === second.id);
    expect(new Set(runs.map(({ entityId }) => entityId))).toEqual(
      new Set([agents[1]!.entityId, agents[2]!.entityId]),
    );
    expect(runs.map(({ chainDepth }) => chainDepth)).toEqual([1, 1]);
  });

  test('Agent sends message, human replies', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Reply Ada')];
    const prompts: string[] = [];
    parts.set('Reply Ada', ({ system, step }) => {
      if (step === 1) prompts.push(system);
      return triggerIn(system) === 'Hi' ? [say('Which colour?')] : [];
    });
    const space = await fixture.space([ann, ada]);
    await fixture.ended((await fixture.say(space, ann, 'Hi')).runs[0]!.id);
    const { runs } = await fixture.say(space, ann, 'Blue');
    await fixture.ended(runs[0]!.id);
    expect(prompts).toHaveLength(2);
    const lines = prompts[1]!.split('\n').filter((line) => /^\[(SEEN|NEW)\]/.test(line));
    expect(lines.map((line) => line.replace(/\[\w{8}\] \S+ /, ''))).toEqual([
      '[SEEN] Ann (human): "Hi"',
      '[SEEN] You (agent): "Which colour?"',
      '[NEW] Ann (human): "Blue"  <== TRIGGER',
    ]);
  });

  test('Multi-turn conversation (3 exchanges)', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Turns Ada')];
    const prompts: string[] = [];
    parts.set('Turns Ada', ({ system, step }) => {
      if (step === 1) prompts.push(system);
      return [say(`Re: ${triggerIn(system)}`)];
    });
    const space = await fixture.space([ann, ada]);
    const ids: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      const { runs } = await fixture.say(space, ann, text);
      ids.push((await fixture.ended(runs[0]!.id)).id);
    }
    expect(new Set(ids).size).toBe(3);
    expect(prompts).toHaveLength(3);
    const marks = marksIn(prompts[2]!);
    expect(marks).toEqual(['SEEN one', 'SEEN Re: one', 'SEEN two', 'SEEN Re: two', 'NEW three']);
  });

  test('Agent uses `set_memories` to store state, next run reads it', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Memory Ada')];
    const prompts: string[] = [];
    parts.set('Memory Ada', ({ system, step }) => {
      if (step === 1) prompts.push(system);
      const memories = [{ key: 'colour', value: 'Ann likes blue' }];
      return prompts.length === 1 ? [{ calls: [{ name: 'set_memories', arguments: { memories } }] }] : [];
    });
    const space = await fixture.space([ann, ada]);
    await fixture.ended((await fixture.say(space, ann, 'I like blue')).runs[0]!.id);
    await fixture.ended((await fixture.say(space, ann, 'What do I like?')).runs[0]!.id);
    expect(prompts[0]).not.toContain('Ann likes blue');
    expect(prompts[1]).toMatch(/^MEMORIES:[\s\S]*Ann likes blue/m);
  });

  test('Plan triggers agent', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Planned Ada')];
    const space = await fixture.space([ann, ada]);
    const prompts: string[] = [];
    const outputs: unknown[] = [];
    parts.set('Planned Ada', ({ system, step, messages }) => {
      if (step === 1) prompts.push(system);
      const last = messages.at(-1)!;
      if (last.role === 'tool') outputs.push(last.output);
      return [say('Too early.'), enter(space), say('Time to drink water.')];
    });
    await fixture.done('POST', `/v1/agents/${ada.id}/plans`, {
      name: 'Water',
      instruction: 'Remind Ann to drink water',
      runAfter: '1 second',
    });
    await until('the plan has run', async () => (await fixture.lines(space)).length === 1);
    await fixture.quiet();
    expect(prompts[0]).toMatch(/^- type: plan$/m);
    expect(prompts[0]).toMatch(/^- instruction: "Remind Ann to drink water"$/m);
    expect(prompts[0]).toMatch(/^ACTIVE SPACE: none\./m);
    expect(prompts[0]).not.toContain('HISTORY of');
    expect(outputs[0]).toMatchObject({ success: false, code: 'no_active_space' });
    expect(await fixture.lines(space)).toEqual(['Planned Ada: Time to drink water.']);
  });

  test('Agent enters Space A, sends message, enters Space B, sends message', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Two Spaces Ada')];
    const [first, a, b] = [
      await fixture.space([ann, ada]),
      await fixture.space([ada]),
      await fixture.space([ada]),
    ];
    parts.set('Two Spaces Ada', () => [enter(a), say('This is for A.'), enter(b), say('This is for B.')]);
    const run = await fixture.ended((await fixture.say(first, ann, 'Tell both')).runs[0]!.id);
    expect(run).toMatchObject({ status: 'completed', activeSpaceId: b });
    expect(await fixture.lines(a)).toEqual(['Two Spaces Ada: This is for A.']);
    expect(await fixture.lines(b)).toEqual(['Two Spaces Ada: This is for B.']);
    expect(await fixture.lines(first)).toEqual(['Ann: Tell both']);
  });

  test('Concurrent runs: same agent triggered twice by different messages', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Busy Ada')];
    const prompts = new Map<string, string>();
    const { closed, open } = gate();
    parts.set('Busy Ada', async ({ system, step }) => {
      if (step === 1) prompts.set(triggerIn(system), system);
      return triggerIn(system) === 'first' ? [{ ...end, gate: closed }] : [];
    });
    const space = await fixture.space([ann, ada]);
    const [first] = (await fixture.say(space, ann, 'first')).runs;
    await until('the first run thinks', () => prompts.has('first'));
    const [second] = (await fixture.say(space, ann, 'second')).runs;
    await fixture.ended(second!.id);
    open();
    expect((await fixture.ended(first!.id)).status).toBe('completed');
    const active = prompts.get('second')!.split('ACTIVE RUNS of yours:')[1]!;
    expect(active).toContain(`- ${second!.id}: this run`);
    expect(active).toMatch(new RegExp(`- ${first!.id}: running, begun by "Ann" .* saying "first"`));
  });

  test('Agent has nothing to say', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Silent Ada')];
    const space = await fixture.space([ann, ada]);
    const { runs } = await fixture.say(space, ann, 'Never mind.');
    expect(await fixture.ended(runs[0]!.id)).toMatchObject({
      status: 'completed',
      outcome: { silent: true },
    });
    expect(await fixture.lines(space)).toEqual(['Ann: Never mind.']);
  });

  test('Same message triggers same agent twice (dedup)', async () => {
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Dedup Ada')];
    const space = await fixture.space([ann, ada]);
    const id = '0190f000-0000-7000-8000-000000000001';
    const both = await Promise.all([1, 2, 3, 4].map(() => fixture.say(space, ann, 'Once', { id })));
    await fixture.quiet();
    expect(both.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(new Set(both.map(({ runs }) => runs.map((run) => run.id).join()))).toHaveProperty('size', 1);
    expect(await fixture.runs(space)).toHaveLength(1);
    expect(await fixture.lines(space)).toEqual(['Ann: Once']);
  });

  test('3 agents in a space discuss a topic', async () => {
    const ann = await fixture.person('Ann');
    const names = ['Talk A', 'Talk B', 'Talk C'];
    const agents = await Promise.all(names.map((name) => fixture.agent(name)));
    // Each speaks once, after the one before it; then all have nothing to add.
    const after: Record<string, string> = {
      'Talk A': 'Discuss',
      'Talk B': 'A thinks so',
      'Talk C': 'B agrees',
    };
    const thoughts: Record<string, string> = {
      'Talk A': 'A thinks so',
      'Talk B': 'B agrees',
      'Talk C': 'C doubts',
    };
    for (const name of names)
      parts.set(name, ({ system }) => (triggerIn(system) === after[name] ? [say(thoughts[name]!)] : []));
    const space = await fixture.space([ann, ...agents]);
    await fixture.say(space, ann, 'Discuss');
    await fixture.quiet();
    expect(await fixture.lines(space)).toEqual([
      'Ann: Discuss',
      'Talk A: A thinks so',
      'Talk B: B agrees',
      'Talk C: C doubts',
    ]);
    // 3 for Ann's message, 2 for each of the others.
    const runs = await fixture.runs(space);
    expect(runs).toHaveLength(9);
    expect(runs.filter(({ outcome }) => (outcome as { silent: boolean }).silent)).toHaveLength(6);
  });
});
