import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function UsagePage() {
  return (
    <Page title="Usage">
      <Empty title="Not here yet" />
    </Page>
  );
}
