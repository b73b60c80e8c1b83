// The page that compares providers: sends the question, and shows the answers as they come.
import { nodes, updateBlocks } from "./log.js";
import { events, post } from "./stream.js";

export function watchCompare(page) {
  const form = page.getElementById("compare");
  if (!form) return;
  const result = page.getElementById("comparison");
  const run = page.getElementById("run");
  const stop = page.getElementById("stop");
  let running = null;
  let picture = "";

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const providers = [...form.querySelectorAll("[name=provider]:checked")].map((box) => box.value);
    if (providers.length < 2) showError(form.dataset.few);
    else if (!running) compare({ text: form.elements.text.value, providers });
  });
  form.elements.text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  stop.addEventListener("click", () => running?.abort());
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && running && !page.querySelector(".cite:hover, .chip:focus")) running.abort();
  });
  result.addEventListener("click", (event) => {
    if (event.target.closest('[data-do="svg"]')) download(picture);
  });
  run.disabled = false;

  async function compare(question) {
    running = new AbortController();
    setBusy(true);
    showError("");
    let ended = false;
    try {
      const response = await post("/compare/run", question, running.signal);
      if (response.redirected) return location.assign(response.url);
      if (!response.ok) return showError((await response.json()).message);
      for await (const { name, data } of events(response)) {
        if (name === "column") update(data);
        else result.replaceChildren(nodes(data.html));
        if (name === "done") {
          picture = data.svg;
          ended = true;
        }
      }
      if (!ended) showError(page.body.dataset.connection);
    } catch (error) {
      showError(error.name === "AbortError" ? form.dataset.stopped : page.body.dataset.connection);
    } finally {
      if (!ended) for (const column of result.querySelectorAll("[aria-busy]")) column.removeAttribute("aria-busy");
      running = null;
      setBusy(false);
    }
  }

  function update({ index, step, status, change }) {
    const column = result.querySelectorAll(".column")[index];
    column.dataset.step = step;
    if (step === "done") column.removeAttribute("aria-busy");
    const state = column.querySelector(".state");
    if (state.textContent !== status) state.textContent = status;
    updateBlocks(column, change);
  }

  function setBusy(busy) {
    stop.hidden = !busy;
    run.hidden = busy;
    (busy ? stop : run).focus({ preventScroll: true });
  }

  function showError(message) {
    const note = page.getElementById("error");
    note.textContent = message;
    note.hidden = !message;
  }
}

function download(svg) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  link.download = "comparison.svg";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
