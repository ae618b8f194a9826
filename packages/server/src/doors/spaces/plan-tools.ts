import { type JsonObject, planStatus, type SnapshotTool, snapshotTool } from '@troupe/protocol';

// What every agent in spaces can call to begin a run of its own later. Executed by tools/builtin/plans.ts.

function tool(
  name: string,
  description: string,
  {
    effect = 'idempotent',
    properties,
    required = [],
  }: { effect?: 'pure' | 'idempotent'; properties: JsonObject; required?: string[] },
): SnapshotTool {
  return snapshotTool.parse({
    name,
    description,
    provider: 'builtin',
    effect,
    timeoutMs: 15_000,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  });
}

const text = (maxLength: number, description: string) => ({ type: 'string', maxLength, description });

export const planTools: SnapshotTool[] = [
  tool(
    'set_plans',
    'Plans runs of yourself. Each plan has a name and exactly one of runAfter, scheduledAt and cron; a plan of the same name is set anew. When its time comes you begin in no space, with the instruction before you: enter a space to speak.',
    {
      properties: {
        plans: {
          type: 'array',
          minItems: 1,
          maxItems: 50,
          items: {
            type: 'object',
            properties: {
              name: { type: 'string', minLength: 1, maxLength: 200 },
              instruction: text(20_000, 'What you are to do then, with all that you will need to know.'),
              runAfter: text(50, 'How long from now: "30 minutes", "2 hours", "1 day", "1 week".'),
              scheduledAt: text(64, 'When, once: "2030-01-31T09:00:00+01:00".'),
              cron: text(200, 'Again and again: five fields, at most once a minute.'),
              timeZone: text(64, 'For cron: "Europe/Zurich". Without it, UTC.'),
            },
            required: ['name'],
            additionalProperties: false,
          },
        },
      },
      required: ['plans'],
    },
  ),
  tool('get_plans', 'Reads your plans: those with this status, or all.', {
    effect: 'pure',
    properties: { status: { type: 'string', enum: planStatus.options } },
  }),
  tool('delete_plans', 'Deletes plans; what has begun goes on.', {
    properties: { planIds: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 200 } },
    required: ['planIds'],
  }),
];
