// Uploads documents one after the other, with progress, and says what was skipped and why.
export function watchUpload(page) {
  const drop = page.getElementById("upload");
  if (!drop) return;
  const results = page.getElementById("uploads");
  let last = Promise.resolve();

  const add = (files) => {
    for (const file of files) {
      const line = addLine(file.name);
      last = last.then(() => send(file, line));
    }
    last = last.then(refresh);
  };
  page.getElementById("files").addEventListener("change", (event) => {
    add(event.target.files);
    event.target.value = "";
  });
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    add(event.dataTransfer.files);
  });

  // The list below, with what was just added.
  async function refresh() {
    const response = await fetch(location.href).catch(() => null);
    if (!response?.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("documents");
    if (fresh) page.getElementById("documents").replaceWith(fresh);
  }

  function addLine(name) {
    const line = page.createElement("li");
    const title = page.createElement("strong");
    title.textContent = name;
    title.dir = "auto";
    const bar = page.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", name);
    const state = page.createElement("span");
    line.append(title, bar, state);
    results.append(line);
    return { line, bar, state };
  }

  function send(file, { line, bar, state }) {
    const end = (outcome, text) => {
      line.dataset.outcome = outcome;
      bar.remove();
      state.textContent = text;
    };
    const skip = (why) => end("skipped", `${drop.dataset.skipped}: ${why}`);
    if (file.size > Number(drop.dataset.bytes)) return skip(drop.dataset.large);
    const ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
    if (!drop.dataset.endings.split(" ").includes(ending)) return skip(drop.dataset.kind);
    state.textContent = drop.dataset.uploading;
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open("POST", `/documents/upload?name=${encodeURIComponent(file.name)}`);
      request.setRequestHeader("content-type", "application/octet-stream");
      request.setRequestHeader("x-groundwire-token", page.body.dataset.token);
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) bar.value = event.loaded / event.total;
        if (event.loaded === event.total) {
          bar.removeAttribute("value");
          state.textContent = drop.dataset.reading;
        }
      });
      request.addEventListener("loadend", () => {
        const body = parse(request.responseText);
        if (request.status === 200 && body) {
          end(body.outcome, body.why ? `${body.message}: ${body.why}` : body.message);
        } else skip(body?.message ?? page.body.dataset.connection);
        resolve();
      });
      request.send(file);
    });
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
