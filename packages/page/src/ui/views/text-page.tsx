import { Head } from '@mcp-pruner/ui/parts/pieces.tsx';
import { useState } from 'preact/hooks';
import { TextView } from '../parts/text-view.tsx';
import { previousView, to } from '../route.tsx';

export function TextPage({ id }: { id: string }) {
  const [back] = useState(previousView);
  return (
    <>
      <Head title="Text" about={<code>{id}</code>}>
        <a class="button" href={back ?? to('conversations')}>
          {back === null ? 'All conversations' : 'Back'}
        </a>
      </Head>
      <section class="card">
        <TextView id={id} explained />
      </section>
    </>
  );
}
