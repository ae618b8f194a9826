import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function ModelsPage() {
  return (
    <Page title="Models">
      <Empty title="Not here yet" />
    </Page>
  );
}
