import { copy } from "./clipboard.js";
import { events, post } from "./stream.js";
import * as log from "./log.js";
import { toast } from "./toasts.js";

// With a touch keyboard, focus would cover half of the answer.
const TOUCH = window.matchMedia("(hover: none)");
const RETRIES = [300, 1000, 3000, 5000];

const FIELDS = ["allowed_domains", "blocked_domains", "country", "region", "city", "timezone", "provider", "model", "search"];

export function watchComposer(page) {
  const form = page.getElementById("composer");
  if (!form) return;
  const text = form.elements.text;
  const stop = page.getElementById("stop");
  const send = page.getElementById("send");
  // Tabs of one browser tell each other that a question was sent.
  const tabs = new BroadcastChannel("groundwire");
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
  stop.addEventListener("click", stopAnswer);
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && running && !page.querySelector(".cite:hover, .chip:focus, .pop[open]")) stopAnswer();
  });
  tabs.addEventListener("message", ({ data }) => {
    if (data.session === form.dataset.session && !running) follow();
  });
  page.getElementById("turn-on").addEventListener("submit", (event) => {
    // The agent searches; only this question would not.
    if (agentOf(form).dataset.search !== "on") return;
    event.preventDefault();
    form.elements.search.value = "";
    showSearch(form);
    text.focus();
  });
  form.elements.agent.addEventListener("change", () => {
    form.elements.search.value = "";
    showSearch(form);
  });
  page.getElementById("search-state").addEventListener("click", ({ currentTarget }) => {
    const isOn = !isSearching(form);
    form.elements.search.value = isOn === (agentOf(form).dataset.search === "on") ? "" : isOn ? "on" : "off";
    showSearch(form);
    if (form.elements.search.value === "on") toast(currentTarget.dataset.hint);
  });
  page.getElementById("log").addEventListener("click", (event) => act(event, propose));
  page.getElementById("log").addEventListener("submit", (event) => {
    event.preventDefault();
    const replaces = event.target.closest("article").dataset.id;
    const edited = event.target.elements.text.value;
    if (edited.trim()) submit({ text: edited, replaces, ...controls(form) });
  });
  page.getElementById("log").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest(".edit")) edit(event.target.closest("article"), false);
  });
  if (page.querySelector('.answer[data-state="running"]')) follow();
  const draft = sessionStorage.getItem(location.pathname);
  if (draft && !text.value) {
    text.value = draft;
    fit();
  }
  window.addEventListener("pagehide", () => saveDraft(text.value));
  const [navigation] = performance.getEntriesByType("navigation");
  if (navigation?.type === "navigate" && !location.hash && !location.search) log.scrollToEnd();
  send.disabled = false;
  if (!TOUCH.matches) text.focus({ preventScroll: true });

  // A suggestion is asked at once, unless its agent cannot answer: then it waits in the form.
  function propose(question) {
    if (isMute(form)) {
      text.value = question.text;
      fit();
      text.focus();
    } else submit({ ...controls(form), ...question });
  }

  async function submit(question) {
    if (running) return;
    const body = { session: form.dataset.session, agent: form.elements.agent.value, ...question };
    await read(() => post("/chat/ask", body), question);
  }

  // The answer goes on without this page: after a reload, in another tab, or when the connection was lost.
  async function follow() {
    if (!running) await read(() => fetch(`/chat/${form.dataset.session}/follow`), {});
  }

  async function read(request, question) {
    const state = (running = { article: null, ended: false, stopping: false });
    setBusy(true);
    showError("");
    let refused = false;
    try {
      refused = await readStream(await request(), question, state);
    } catch {
      // The connection was lost; the answer is followed below.
    }
    for (const pause of RETRIES) {
      if (state.ended || refused || !state.article) break;
      await new Promise((resolve) => setTimeout(resolve, pause));
      const again = await fetch(`/chat/${form.dataset.session}/follow`).catch(() => null);
      if (again) refused = await readStream(again, {}, state).catch(() => false);
    }
    if (!state.ended && !refused) showError(page.body.dataset[state.article ? "connection" : "unreachable"]);
    if (state.article && !state.ended) log.markInterrupted(state.article);
    running = null;
    setBusy(false);
    if (refused === 409) follow();
  }

  // Returns the status of a refusal, or false.
  async function readStream(response, question, state) {
    if (response.redirected) location.assign(response.url);
    else if (!response.ok) showError((await response.json()).message);
    if (response.redirected || !response.ok) return response.status;
    for await (const event of events(response)) handle(event, question, state);
    return false;
  }

  function handle({ name, data }, question, state) {
    if (name === "turn") {
      if (question.replaces) log.removeFrom(question.replaces);
      else if (question.text && question.text === text.value) {
        text.value = "";
        fit();
      }
      state.article = log.showTurn(data);
      nameSession(data);
      if (question.text !== undefined) tabs.postMessage({ session: data.session });
      if (state.stopping) stopAnswer();
    } else if (name === "body") log.updateBlocks(state.article, data);
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

  // A question that is not stored yet has no session to stop; it is stopped as soon as it has one.
  async function stopAnswer() {
    if (!running) return;
    running.stopping = true;
    if (!running.article) return;
    const response = await post(`/chat/${form.dataset.session}/stop`, {}).catch(() => null);
    if (!response?.ok) showError(page.body.dataset.connection);
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
    if (!TOUCH.matches) (busy ? stop : text).focus({ preventScroll: true });
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

function agentOf(form) {
  return form.elements.agent.selectedOptions[0];
}

// Is the web searched for the next question? The agent decides, unless the user has chosen.
function isSearching(form) {
  return (form.elements.search.value || agentOf(form).dataset.search) === "on";
}

// Is there nothing that answers without a search?
function isMute(form) {
  return "mute" in agentOf(form).dataset && !isSearching(form);
}

function showSearch(form) {
  const isOn = isSearching(form);
  document.getElementById("search-state").setAttribute("aria-checked", String(isOn));
  document.getElementById("controls").hidden = !isOn;
  document.getElementById("mute").hidden = !isMute(form);
  document.getElementById("turn-on").action = `/agents/${agentOf(form).value}/search`;
}

function act(event, ask) {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  const article = button.closest("article");
  if (button.dataset.do === "ask") ask({ text: button.textContent.trim() });
  else if (button.dataset.do === "retry") ask({ text: "", replaces: button.dataset.question, ...target() });
  else if (button.dataset.do === "continue") ask({ text: button.dataset.text });
  else if (button.dataset.do === "copy") copy(button, article.querySelector("[data-copy]").value);
  else if (button.dataset.do === "all-sources") {
    event.preventDefault();
    openSources(article);
  }
  else if (["edit", "cancel"].includes(button.dataset.do)) edit(article, button.dataset.do === "edit");
}

function openSources(article) {
  const sources = article.querySelector(".sources");
  sources.open = true;
  sources.querySelector("summary").focus();
  sources.scrollIntoView({ block: "start" });
}

// The provider, the model and the search that are chosen now, for asking again.
function target() {
  const { provider, model, search } = document.getElementById("composer").elements;
  return { provider: provider.value, model: model.value, search: search.value };
}

function edit(article, editing) {
  const form = article.querySelector(".edit");
  form.hidden = !editing;
  article.querySelector(".question-text").hidden = editing;
  article.querySelector(".tools").hidden = editing;
  (editing ? form.elements.text : article.querySelector('[data-do="edit"]')).focus();
}
