import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function PlansPage() {
  return (
    <Page title="Plans">
      <Empty title="Not here yet" />
    </Page>
  );
}
