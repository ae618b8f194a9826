import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function WorkersPage() {
  return (
    <Page title="Workers">
      <Empty title="Not here yet" />
    </Page>
  );
}
