import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function KeysPage() {
  return (
    <Page title="Keys">
      <Empty title="Not here yet" />
    </Page>
  );
}
