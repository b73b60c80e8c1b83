import { copy } from "./clipboard.js";
import { events, post } from "./stream.js";
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
    if (text.value.trim()) submit({ text: text.value, ...controls(form) });
  });
  stop.addEventListener("click", () => running?.abort());
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && running && !page.querySelector(".cite:hover, .chip:focus, .pop[open]")) running.abort();
  });
  page.getElementById("hello")?.addEventListener("click", (event) => {
    if (!event.target.matches("[data-example]")) return;
    text.value = event.target.textContent;
    fit();
    text.focus();
  });
  form.elements.agent.addEventListener("change", () => showSearch(form));
  page.getElementById("log").addEventListener("click", (event) => act(event, submit));
  page.getElementById("log").addEventListener("submit", (event) => {
    event.preventDefault();
    const replaces = event.target.closest("article").dataset.id;
    const edited = event.target.elements.text.value;
    if (edited.trim()) submit({ text: edited, replaces, ...controls(form) });
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
  window.addEventListener("pagehide", () => saveDraft(text.value));
  const [navigation] = performance.getEntriesByType("navigation");
  if (navigation?.type === "navigate" && !location.hash && !location.search) log.scrollToEnd();
  send.disabled = false;
  text.focus({ preventScroll: true });

  async function submit(question) {
    if (running) return;
    running = new AbortController();
    setBusy(true);
    showError("");
    const state = { article: null, ended: false };
    try {
      const body = { session: form.dataset.session, agent: form.elements.agent.value, ...question };
      const response = await post("/chat/ask", body, running.signal);
      if (response.redirected) return location.assign(response.url);
      if (!response.ok) return showError((await response.json()).message);
      for await (const event of events(response)) handle(event, question, state);
      if (!state.ended) showError(page.body.dataset.connection);
    } catch (error) {
      if (error.name === "AbortError") await loadStored(state);
      else showError(page.body.dataset.connection);
    } finally {
      if (state.article && !state.ended) log.markInterrupted(state.article);
      running = null;
      setBusy(false);
    }
  }

  function handle({ name, data }, question, state) {
    if (name === "turn") {
      if (question.replaces) log.removeFrom(question.replaces);
      else {
        text.value = "";
        fit();
      }
      state.article = log.addTurn(data);
      nameSession(data);
    } else if (name === "body") log.updateBody(state.article, data);
    else if (name === "status") log.setStatus(state.article, data.html);
    else if (name === "progress") log.setProgress(state.article, data.html);
    else if (name === "done") {
      state.article = log.replaceAnswer(state.article, data.html);
      state.ended = true;
    } else if (name === "refused") {
      showError(data.message);
      state.ended = true;
    }
  }

  // After a stop, the server has the part of the answer that was stored.
  async function loadStored(state) {
    if (!state.article) return;
    for (const pause of [150, 400, 1000, 2000]) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const response = await fetch(`/chat/${form.dataset.session}`);
      const stored = new DOMParser().parseFromString(await response.text(), "text/html");
      const answer = stored.getElementById(state.article.id);
      if (answer && answer.dataset.state !== "running") {
        state.article = log.replaceAnswer(state.article, answer.outerHTML);
        state.ended = true;
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

  function setBusy(busy) {
    stop.hidden = !busy;
    send.hidden = busy;
    (busy ? stop : text).focus({ preventScroll: true });
  }

  function showError(message) {
    const note = page.getElementById("error");
    note.textContent = message;
    note.hidden = !message;
  }
}

// A draft that was not sent is restored when the page is opened again.
function saveDraft(draft) {
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

function act(event, submit) {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  const article = button.closest("article");
  if (button.dataset.do === "retry") submit({ text: "", replaces: button.dataset.question });
  else if (button.dataset.do === "copy") copy(button, article.querySelector("[data-copy]").value);
  else if (["edit", "cancel"].includes(button.dataset.do)) edit(article, button.dataset.do === "edit");
}

function edit(article, editing) {
  const form = article.querySelector(".edit");
  form.hidden = !editing;
  article.querySelector(".question-text").hidden = editing;
  article.querySelector(".tools").hidden = editing;
  (editing ? form.elements.text : article.querySelector('[data-do="edit"]')).focus();
}
