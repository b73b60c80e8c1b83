// Asks for confirmation before the user leaves a form with changes: by a link, by another form, or in the browser.
export function watchUnsaved(page) {
  const form = page.querySelector("form[data-unsaved]");
  if (!form) return;
  const before = fields(form);
  let leaving = false;
  const changed = () => !leaving && ("changed" in form.dataset || fields(form) !== before);

  const confirmLeaving = (event) => {
    if (!changed()) return;
    if (window.confirm(form.dataset.unsaved)) leaving = true;
    else event.preventDefault();
  };
  page.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || link.target === "_blank" || link.hasAttribute("download")) return;
    if (link.origin === location.origin && link.pathname === location.pathname && link.hash) return;
    confirmLeaving(event);
  });
  page.addEventListener("submit", (event) => {
    // A confirmed deletion needs no second confirmation.
    if (event.target === form || (event.target.dataset.confirm && !event.defaultPrevented)) leaving = true;
    else if (!event.defaultPrevented) confirmLeaving(event);
  });
  window.addEventListener("beforeunload", (event) => {
    if (changed()) event.preventDefault();
  });
  // A page restored from the history still has its changes, and is not being left.
  window.addEventListener("pageshow", () => (leaving = false));
}

function fields(form) {
  return JSON.stringify([...new FormData(form)]);
}
