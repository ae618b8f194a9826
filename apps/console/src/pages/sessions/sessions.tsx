import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function SessionsPage() {
  return (
    <Page title="Sessions">
      <Empty title="Not here yet" />
    </Page>
  );
}
