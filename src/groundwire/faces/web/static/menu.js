// The menu of a session in the navigation. Its content comes from the server when it is opened.
import { nodes } from "./log.js";

export function watchSessionMenu(page) {
  const list = page.querySelector(".sessions");
  if (!list) return;
  const dialog = page.createElement("dialog");
  dialog.className = "session-menu sheet";
  page.body.append(dialog);

  page.addEventListener("click", (event) => {
    const button = event.target.closest?.('[data-do="session-menu"]');
    if (button) open(button);
    else if (event.target === dialog) dialog.close();
  });
  // A session that was just begun has no button yet.
  const today = page.getElementById("sessions");
  if (today) new MutationObserver(() => addButtons(today)).observe(today, { childList: true });

  async function open(button) {
    const path = new URL(button.parentElement.querySelector("a").href).pathname;
    const response = await fetch(`${path}/menu`).catch(() => null);
    if (!response?.ok) return;
    const { html, title } = await response.json();
    dialog.replaceChildren(nodes(html));
    dialog.setAttribute("aria-label", title);
    dialog.showModal();
    const place = button.getBoundingClientRect();
    dialog.style.setProperty("--top", `${Math.min(place.bottom, window.innerHeight - dialog.offsetHeight - 12)}px`);
    dialog.style.setProperty("--left", `${place.left}px`);
    for (const part of dialog.querySelectorAll("details")) part.name = "session-menu";
  }

  function addButtons(items) {
    const model = page.querySelector('[data-do="session-menu"]');
    for (const item of items.children) {
      if (item.querySelector("button")) continue;
      const title = page.createElement("span");
      title.className = "item-title";
      title.dir = "auto";
      title.append(...item.firstElementChild.childNodes);
      item.firstElementChild.append(title);
      const button = model?.cloneNode(true) ?? page.createElement("button");
      button.type = "button";
      button.className = "quiet item-menu";
      button.dataset.do = "session-menu";
      button.textContent = "⋯";
      button.setAttribute("aria-label", page.body.dataset.menuOf.replace("{title}", item.textContent.trim()));
      item.append(button);
    }
  }
}
