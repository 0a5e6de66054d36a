import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Confirmation of irreversible actions. The native dialog traps the focus and handles Escape. */
export function Confirm({
  title,
  children,
  yes,
  onYes,
  onNo,
}: {
  title: string;
  children: ComponentChildren;
  yes: string;
  onYes: () => void;
  onNo: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={onNo} onCancel={onNo}>
      <h2 id="confirm-title">{title}</h2>
      {children}
      <div class="actions end">
        {/* the harmless choice comes first and is focused */}
        <button type="button" onClick={onNo}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={onYes}>
          {yes}
        </button>
      </div>
    </dialog>
  );
}
