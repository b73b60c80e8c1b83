// The link of a new share, with the address of this server.
import { copy } from "./clipboard.js";

export function watchShareLink(page) {
  const link = page.getElementById("shared-link");
  if (!link) return;
  link.textContent = location.origin + link.dataset.path;
  page.addEventListener("click", (event) => {
    const button = event.target.closest?.('[data-do="copy-link"]');
    if (button) copy(button, link.textContent);
  });
}
