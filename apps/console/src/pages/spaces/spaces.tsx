import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function SpacesPage() {
  return (
    <Page title="Spaces">
      <Empty title="Not here yet" />
    </Page>
  );
}
