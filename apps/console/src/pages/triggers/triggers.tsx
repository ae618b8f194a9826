import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function TriggersPage() {
  return (
    <Page title="Triggers">
      <Empty title="Not here yet" />
    </Page>
  );
}
