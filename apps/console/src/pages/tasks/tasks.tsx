import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function TasksPage() {
  return (
    <Page title="Tasks">
      <Empty title="Not here yet" />
    </Page>
  );
}
