import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, Select, TextArea } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { exactFormat } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { useAgents } from '../../data/names.ts';
import { useSettings } from '../../data/settings.ts';
import { type Moment, momentOf, wallTime, zoneOf } from '../../data/zoned.ts';
import { agentQuery } from '../agents/queries.ts';

type How = 'after' | 'once' | 'cron' | 'same';
const zones = Intl.supportedValuesOf('timeZone');
const units = ['seconds', 'minutes', 'hours', 'days', 'weeks'];
const examples = [
  ['0 9 * * 1-5', 'At 9 on working days'],
  ['0 * * * *', 'Every hour'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['0 0 1 * *', 'On the first of each month'],
] as const;

/** A plan with one of the three times that there are; of a plan that is there, the time may stay. */
export function EditPlan({
  agentId: given,
  plan,
  onClose,
}: {
  agentId: string | null;
  plan: Api.Plan | null;
  onClose: () => void;
}) {
  const { timeZone: chosen } = useSettings();
  const here = zoneOf(chosen);
  const agents = useAgents();
  const [agentId, setAgentId] = useState(given ?? '');
  const [name, setName] = useState(plan?.name ?? '');
  const [instruction, setInstruction] = useState(plan?.instruction ?? '');
  const [how, setHow] = useState<How>(plan ? (plan.cron ? 'cron' : 'same') : 'after');
  const [amount, setAmount] = useState('30');
  const [unit, setUnit] = useState('minutes');
  const [at, setAt] = useState(plan?.scheduledAt ? wallTime(plan.scheduledAt, here) : '');
  const [cron, setCron] = useState(plan?.cron ?? '0 9 * * 1-5');
  const [zone, setZone] = useState(plan?.timeZone ?? here);
  const client = useQueryClient();
  const moment = momentOf(at, here);
  const isTimeKept = how === 'cron' && plan?.cron === cron && plan.timeZone === zone;
  const time =
    how === 'after'
      ? { runAfter: `${amount} ${amount === '1' ? unit.slice(0, -1) : unit}` }
      : how === 'once' && moment
        ? { scheduledAt: moment.time }
        : how === 'cron' && !isTimeKept
          ? { cron, timeZone: zone }
          : {};
  const save = useMutation({
    mutationFn: () =>
      plan
        ? troupe.plans.update({
            params: { agentId, planId: plan.id },
            body: { name, instruction, ...time },
          })
        : troupe.plans.create({ params: { agentId }, body: { name, instruction, ...time } }),
    onSuccess: async (saved) => {
      await client.invalidateQueries({ queryKey: ['plans'] });
      const next = saved.nextRunAt && exactFormat(chosen).format(new Date(saved.nextRunAt));
      say(next ? `“${saved.name}” runs next at ${next}.` : `“${saved.name}” is saved.`);
      onClose();
    },
  });
  const { error } = save;
  const rest = restOf(error, ['name', 'instruction', 'runAfter', 'scheduledAt', 'cron', 'timeZone']);
  return (
    <Dialog open onClose={onClose} title={plan ? `Edit “${plan.name}”` : 'New plan'}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {given === null ? (
          <Field label="Agent">
            {(ids) => (
              <Select {...ids} required value={agentId} onChange={({ target }) => setAgentId(target.value)}>
                <option value="">Choose an agent…</option>
                {(agents ?? []).map((agent) => (
                  <option key={agent.id} value={agent.id}>
                    {agent.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        ) : (
          <OfAgent agentId={given} />
        )}
        <Field label="Name" hint="The agent has it once." error={issueAt(error, 'name')}>
          {(ids) => (
            <Input
              {...ids}
              required
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field label="Instruction" hint="What the run is told." error={issueAt(error, 'instruction')}>
          {(ids) => (
            <TextArea
              {...ids}
              rows={3}
              maxLength={20_000}
              value={instruction}
              onChange={({ target }) => setInstruction(target.value)}
            />
          )}
        </Field>
        <Field label="When">
          {(ids) => (
            <Select {...ids} value={how} onChange={({ target }) => setHow(target.value as How)}>
              {plan && !plan.cron && <option value="same">As it is</option>}
              <option value="after">In a while</option>
              <option value="once">At a time, once</option>
              <option value="cron">Again and again</option>
            </Select>
          )}
        </Field>
        {how === 'after' && (
          <div className="flex items-start gap-2">
            <Field label="How long from now" error={issueAt(error, 'runAfter')} className="flex-1">
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  min={1}
                  step={1}
                  required
                  value={amount}
                  onChange={({ target }) => setAmount(target.value)}
                />
              )}
            </Field>
            <Field label="Unit" className="flex-1">
              {(ids) => (
                <Select {...ids} value={unit} onChange={({ target }) => setUnit(target.value)}>
                  {units.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </Select>
              )}
            </Field>
          </div>
        )}
        {how === 'once' && (
          <Field
            label="Time"
            hint={`In ${here}, ${chosen ? 'chosen in Settings' : 'the time zone of this browser'}. ${moment ? momentWords(moment, here) : ''}`}
            error={issueAt(error, 'scheduledAt')}
          >
            {(ids) => (
              <Input
                {...ids}
                type="datetime-local"
                required
                value={at}
                onChange={({ target }) => setAt(target.value)}
              />
            )}
          </Field>
        )}
        {how === 'cron' && (
          <>
            <Field
              label="Cron"
              hint="Minute, hour, day of the month, month, day of the week."
              error={issueAt(error, 'cron')}
            >
              {(ids) => (
                <Input
                  {...ids}
                  required
                  maxLength={200}
                  value={cron}
                  onChange={({ target }) => setCron(target.value)}
                  className="font-mono text-xs"
                />
              )}
            </Field>
            <div className="-mt-2 flex flex-wrap gap-1">
              {examples.map(([rule, words]) => (
                <Button key={rule} size="small" kind="quiet" onClick={() => setCron(rule)}>
                  {words}
                </Button>
              ))}
            </div>
            <Field label="Time zone" error={issueAt(error, 'timeZone')}>
              {(ids) => (
                <>
                  <Input
                    {...ids}
                    list={`${ids.id}-zones`}
                    required
                    value={zone}
                    onChange={({ target }) => setZone(target.value)}
                  />
                  <datalist id={`${ids.id}-zones`}>
                    {['UTC', ...zones].map((one) => (
                      <option key={one} value={one} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
          </>
        )}
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {plan ? 'Save' : 'Plan it'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** When it runs, for whoever reads it elsewhere; and what became of a time that is no plain one. */
function momentWords({ time, kind }: Moment, zone: string): string {
  const utc = zone === 'UTC' ? '' : `That is ${exactFormat('UTC').format(new Date(time))} UTC.`;
  if (kind === 'twice') return `Clocks show it twice that night; it runs the first time. ${utc}`;
  if (kind === 'skipped')
    return `Clocks skip it that night; it runs at ${wallTime(time, zone).slice(11)}. ${utc}`;
  return utc;
}

function OfAgent({ agentId }: { agentId: string }) {
  const { data } = useQuery(agentQuery(agentId));
  return <p className="text-sm text-muted">A run of {data?.name ?? 'the agent'}.</p>;
}
