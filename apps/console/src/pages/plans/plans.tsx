import { getRouteApi } from '@tanstack/react-router';
import { Page } from '../../blocks/page.tsx';
import { PlanList } from './plan-list.tsx';

const route = getRouteApi('/plans');

export function PlansPage() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page title="Plans" about="Runs of agents that have yet to begin: once, or again and again.">
      <PlanList
        agentId={null}
        status={status}
        onStatus={(next) => void navigate({ search: next ? { status: next } : {}, replace: true })}
      />
    </Page>
  );
}
