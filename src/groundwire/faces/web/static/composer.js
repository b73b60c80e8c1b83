import { ask, events } from "./stream.js";
import * as log from "./log.js";

const FIELDS = ["allowed_domains", "blocked_domains", "country", "region", "city", "timezone"];

export function watchComposer(page) {
  const form = page.getElementById("composer");
  if (!form) return;
  const text = form.elements.text;
  const stop = page.getElementById("stop");
  const send = page.getElementById("send");
  let running = null;

  const fit = () => {
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  };
  text.addEventListener("input", fit);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (text.value.trim()) put({ text: text.value, ...controls(form) });
  });
  stop.addEventListener("click", () => running?.abort());
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && running && !page.querySelector(".cite:hover, .chip:focus, .pop[open]")) running.abort();
  });
  page.getElementById("hello")?.addEventListener("click", (event) => {
    if (!event.target.matches("[data-say]")) return;
    text.value = event.target.textContent;
    fit();
    text.focus();
  });
  form.elements.agent.addEventListener("change", () => showSearch(form));
  page.getElementById("log").addEventListener("click", (event) => act(event, put));
  page.getElementById("log").addEventListener("submit", (event) => {
    event.preventDefault();
    const replaces = event.target.closest("article").dataset.id;
    const said = event.target.elements.text.value;
    if (said.trim()) put({ text: said, replaces, ...controls(form) });
  });
  page.getElementById("log").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest(".edit")) edit(event.target.closest("article"), false);
  });
  if (page.querySelector('.answer[data-state="running"]')) setTimeout(() => location.reload(), 2500);
  const draft = sessionStorage.getItem(location.pathname);
  if (draft && !text.value) {
    text.value = draft;
    fit();
  }
  window.addEventListener("pagehide", () => keep(text.value));
  const [come] = performance.getEntriesByType("navigation");
  if (come?.type === "navigate" && !location.hash && !location.search) log.toEnd();
  send.disabled = false;
  text.focus({ preventScroll: true });

  async function put(question) {
    if (running) return;
    running = new AbortController();
    busy(true);
    trouble("");
    const seen = { article: null, ended: false };
    try {
      const whole = { session: form.dataset.session, agent: form.elements.agent.value, ...question };
      const response = await ask(whole, running.signal);
      if (response.redirected) return location.assign(response.url);
      if (!response.ok) return trouble((await response.json()).message);
      for await (const event of events(response)) take(event, question, seen);
      if (!seen.ended) trouble(page.body.dataset.connection);
    } catch (error) {
      if (error.name === "AbortError") await settle(seen);
      else trouble(page.body.dataset.connection);
    } finally {
      if (seen.article && !seen.ended) log.breakOff(seen.article);
      running = null;
      busy(false);
    }
  }

  function take({ name, data }, question, seen) {
    if (name === "turn") {
      if (question.replaces) log.cutFrom(question.replaces);
      else {
        text.value = "";
        fit();
      }
      seen.article = log.begin(data);
      nameSession(data);
    } else if (name === "body") log.grow(seen.article, data);
    else if (name === "status") log.tell(seen.article, data.html);
    else if (name === "progress") log.preview(seen.article, data.html);
    else if (name === "done") {
      seen.article = log.end(seen.article, data.html);
      seen.ended = true;
    } else if (name === "refused") {
      trouble(data.message);
      seen.ended = true;
    }
  }

  // Stopped: what was kept of the answer is on the server.
  async function settle(seen) {
    if (!seen.article) return;
    for (const pause of [150, 400, 1000, 2000]) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const response = await fetch(`/chat/${form.dataset.session}`);
      const whole = new DOMParser().parseFromString(await response.text(), "text/html");
      const kept = whole.getElementById(seen.article.id);
      if (kept && kept.dataset.state !== "running") {
        seen.article = log.end(seen.article, kept.outerHTML);
        seen.ended = true;
        return;
      }
    }
  }

  function nameSession(turn) {
    if (form.dataset.session) return;
    form.dataset.session = turn.session;
    page.getElementById("turn-on").elements.session.value = turn.session;
    page.title = turn.title;
    page.getElementById("title").textContent = turn.title;
    page.getElementById("actions").innerHTML = turn.actions;
    history.replaceState(null, "", `/chat/${turn.session}`);
    const item = page.createElement("li");
    const link = page.createElement("a");
    link.href = `/chat/${turn.session}`;
    link.textContent = turn.title;
    link.setAttribute("aria-current", "page");
    item.append(link);
    page.getElementById("sessions").prepend(item);
    const back = page.querySelector('.language [name="back"]');
    if (back) back.value = `/chat/${turn.session}`;
  }

  function busy(is) {
    stop.hidden = !is;
    send.hidden = is;
    (is ? stop : text).focus({ preventScroll: true });
  }

  function trouble(message) {
    const note = page.getElementById("trouble");
    note.textContent = message;
    note.hidden = !message;
  }
}

// What was typed and not sent is there again when the page comes back.
function keep(draft) {
  if (draft.trim()) sessionStorage.setItem(location.pathname, draft);
  else sessionStorage.removeItem(location.pathname);
}

function controls(form) {
  return Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value]));
}

function showSearch(form) {
  const chosen = form.elements.agent.selectedOptions[0];
  const state = document.getElementById("search-state");
  state.dataset.state = chosen.dataset.search;
  state.textContent = chosen.dataset.search === "on" ? state.dataset.on : state.dataset.off;
  state.href = `/agents/${chosen.value}`;
  document.getElementById("controls").hidden = chosen.dataset.search !== "on";
  document.getElementById("mute").hidden = !("mute" in chosen.dataset);
  document.getElementById("turn-on").action = `/agents/${chosen.value}/search`;
}

function act(event, put) {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  const article = button.closest("article");
  if (button.dataset.do === "retry") put({ text: "", replaces: button.dataset.question });
  else if (button.dataset.do === "copy") copy(button, article);
  else edit(article, button.dataset.do === "edit");
}

function edit(article, is) {
  const form = article.querySelector(".edit");
  form.hidden = !is;
  article.querySelector(".said").hidden = is;
  article.querySelector(".tools").hidden = is;
  (is ? form.elements.text : article.querySelector('[data-do="edit"]')).focus();
}

async function copy(button, article) {
  const text = article.querySelector("[data-copy]").value;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = article.querySelector("[data-copy]");
    area.select();
    document.execCommand("copy");
    button.focus();
  }
  const before = button.textContent;
  button.textContent = document.body.dataset.copied;
  setTimeout(() => (button.textContent = before), 1500);
}
