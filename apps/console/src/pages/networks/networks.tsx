import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function NetworksPage() {
  return (
    <Page title="Networks">
      <Empty title="Not here yet" />
    </Page>
  );
}
