import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function AgentsPage() {
  return (
    <Page title="Agents">
      <Empty title="Not here yet" />
    </Page>
  );
}
