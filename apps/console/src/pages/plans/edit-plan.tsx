import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { SelectField, TextAreaField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { say } from '../../blocks/toast.tsx';
import { exactFormat } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
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
  return (
    <FormDialog
      onClose={onClose}
      title={plan ? `Edit “${plan.name}”` : 'Create plan'}
      submit={plan ? 'Save plan' : 'Create plan'}
      act={() =>
        plan
          ? troupe.plans.update({
              params: { agentId, planId: plan.id },
              body: { name, instruction, ...time },
            })
          : troupe.plans.create({ params: { agentId }, body: { name, instruction, ...time } })
      }
      changes="plans"
      onDone={(saved) => {
        const next = saved.nextRunAt && exactFormat(chosen).format(new Date(saved.nextRunAt));
        say(next ? `“${saved.name}” runs next at ${next}.` : `Saved plan “${saved.name}”.`);
        onClose();
      }}
    >
      {given === null ? (
        <SelectField
          label="Agent"
          required
          value={agentId}
          onChange={setAgentId}
          first="Choose an agent…"
          options={(agents ?? []).map((agent) => [agent.id, agent.name])}
        />
      ) : (
        <OfAgent agentId={given} />
      )}
      <TextField
        label="Name"
        hint="Unique among the plans of the agent."
        path="name"
        required
        maxLength={200}
        value={name}
        onChange={setName}
      />
      <TextAreaField
        label="Instruction"
        hint="The message that starts the run."
        path="instruction"
        rows={3}
        maxLength={20_000}
        value={instruction}
        onChange={setInstruction}
      />
      <SelectField
        label="When"
        value={how}
        onChange={setHow}
        options={[
          ...(plan && !plan.cron ? ([['same', 'Keep the time']] as const) : []),
          ['after', 'After a delay'],
          ['once', 'Once, at a time'],
          ['cron', 'Repeatedly'],
        ]}
      />
      {how === 'after' && (
        <div className="flex items-start gap-2">
          <TextField
            label="How long from now"
            path="runAfter"
            className="flex-1"
            type="number"
            min={1}
            step={1}
            required
            value={amount}
            onChange={setAmount}
          />
          <SelectField
            label="Unit"
            className="flex-1"
            value={unit}
            onChange={setUnit}
            options={units.map((one) => [one, one])}
          />
        </div>
      )}
      {how === 'once' && (
        <TextField
          label="Time"
          hint={`In ${here}, ${chosen ? 'chosen in Settings' : 'the time zone of this browser'}. ${moment ? momentWords(moment, here) : ''}`}
          path="scheduledAt"
          type="datetime-local"
          required
          value={at}
          onChange={setAt}
        />
      )}
      {how === 'cron' && (
        <>
          <TextField
            label="Cron"
            hint="Minute, hour, day of the month, month, day of the week."
            path="cron"
            required
            maxLength={200}
            mono
            value={cron}
            onChange={setCron}
          />
          <div className="-mt-2 flex flex-wrap gap-1">
            {examples.map(([rule, words]) => (
              <Button key={rule} size="small" kind="quiet" onClick={() => setCron(rule)}>
                {words}
              </Button>
            ))}
          </div>
          <TextField
            label="Time zone"
            path="timeZone"
            required
            suggestions={['UTC', ...zones]}
            value={zone}
            onChange={setZone}
          />
        </>
      )}
    </FormDialog>
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
