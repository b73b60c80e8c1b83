// Buttons under an answer: verify its citations, and copy its sources.
import { copy } from "./clipboard.js";
import { nodes } from "./log.js";
import { post } from "./stream.js";

export function watchVerify(page) {
  page.addEventListener("click", async (event) => {
    const button = event.target.closest?.('[data-do="verify"], [data-do="sources"]');
    if (!button || button.getAttribute("aria-disabled")) return;
    if (button.dataset.do === "verify") await verify(page, button);
    else await copySources(page, button);
  });
}

async function copySources(page, button) {
  const response = await fetch(button.dataset.href).catch(() => null);
  if (response?.ok) await copy(button, await response.text());
  else showError(page, page.body.dataset.connection);
}

// The button stays focusable while the pages are read; its text is the progress.
async function verify(page, button) {
  const article = button.closest("article");
  const session = page.getElementById("composer").dataset.session;
  const before = button.textContent;
  showError(page, "");
  button.setAttribute("aria-disabled", "true");
  button.textContent = button.dataset.busy;
  article.querySelector(".status").textContent = button.dataset.busy;
  let failure = page.body.dataset.connection;
  try {
    const response = await post(`/chat/${session}/verify`, { answer: Number(article.dataset.number) });
    if (response.redirected) return location.assign(response.url);
    const body = await response.json();
    if (response.ok) return show(page, article, body);
    failure = body.message;
  } catch {
    // The message about the connection is shown.
  }
  article.querySelector(".status").textContent = "";
  button.removeAttribute("aria-disabled");
  button.textContent = before;
  showError(page, failure);
}

function show(page, article, { html, note }) {
  const open = article.querySelector(".sources")?.open;
  const focused = article.contains(page.activeElement);
  const fresh = nodes(html).firstElementChild;
  article.replaceWith(fresh);
  const failed = fresh.querySelector(".sources .verdict.failed");
  if (open || failed) fresh.querySelector(".sources")?.setAttribute("open", "");
  if (focused) fresh.querySelector(".verified")?.focus({ preventScroll: true });
  fresh.querySelector(".verified")?.scrollIntoView({ block: "nearest" });
  showError(page, note);
}

function showError(page, message) {
  const note = page.getElementById("error");
  note.textContent = message;
  note.hidden = !message;
}
