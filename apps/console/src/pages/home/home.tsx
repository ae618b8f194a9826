import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function HomePage() {
  return (
    <Page title="Home">
      <Empty title="Not here yet" />
    </Page>
  );
}
