import { Head } from '../parts/pieces.tsx';
import { TextView } from '../parts/text-view.tsx';

/** One original by itself. */
export function TextPage({ id }: { id: string }) {
  return (
    <>
      <Head title="Text" about={<code>{id}</code>} />
      <section class="card">
        <TextView id={id} />
      </section>
    </>
  );
}
