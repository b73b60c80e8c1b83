// Asks before a form with changes is left: by a link of the page, by another form, or by the browser itself.
export function watchUnsaved(page) {
  const form = page.querySelector("form[data-unsaved]");
  if (!form) return;
  const before = fields(form);
  let leaving = false;
  const changed = () => !leaving && ("changed" in form.dataset || fields(form) !== before);

  const asked = (event) => {
    if (!changed()) return;
    if (window.confirm(form.dataset.unsaved)) leaving = true;
    else event.preventDefault();
  };
  page.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || link.target === "_blank" || link.hasAttribute("download")) return;
    if (link.origin === location.origin && link.pathname === location.pathname && link.hash) return;
    asked(event);
  });
  page.addEventListener("submit", (event) => {
    // Whoever confirmed to delete it need not be asked twice.
    if (event.target === form || (event.target.dataset.confirm && !event.defaultPrevented)) leaving = true;
    else if (!event.defaultPrevented) asked(event);
  });
  window.addEventListener("beforeunload", (event) => {
    if (changed()) event.preventDefault();
  });
  // A page that comes back from the history is as it was left: with its changes, and not leaving.
  window.addEventListener("pageshow", () => (leaving = false));
}

function fields(form) {
  return JSON.stringify([...new FormData(form)]);
}
