import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function ToolsPage() {
  return (
    <Page title="Tools">
      <Empty title="Not here yet" />
    </Page>
  );
}
