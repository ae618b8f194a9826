import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function RunsPage() {
  return (
    <Page title="Runs">
      <Empty title="Not here yet" />
    </Page>
  );
}
