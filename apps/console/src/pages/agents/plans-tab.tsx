import { PlanList } from '../plans/plan-list.tsx';

export default function PlansTab({ agentId }: { agentId: string }) {
  return (
    <div className="max-w-5xl">
      <PlanList agentId={agentId} />
    </div>
  );
}
