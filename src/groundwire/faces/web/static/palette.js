// Ctrl+K: a dialog that finds sessions and opens pages.
const PAUSE = 150;

export function watchPalette(page) {
  const dialog = page.getElementById("palette");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const list = dialog.querySelector("ul");
  const commands = [...list.children];
  let chosen = 0;
  let waiting = 0;
  let asked = 0;

  page.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      if (dialog.open) dialog.close();
      else open();
    }
  });
  page.addEventListener("click", (event) => {
    if (event.target.closest?.('[data-do="palette"]')) open();
    else if (event.target === dialog) dialog.close();
  });
  input.addEventListener("input", () => {
    asked += 1; // results for the text before do not fit any more
    show([]);
    clearTimeout(waiting);
    waiting = setTimeout(search, PAUSE);
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      choose(chosen + step);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(list.children[chosen]);
    }
  });
  list.addEventListener("click", (event) => run(event.target.closest("li")));

  function open() {
    input.value = "";
    dialog.showModal();
    show([]);
    search();
  }

  async function search() {
    const number = ++asked;
    const response = await fetch(`/palette?q=${encodeURIComponent(input.value)}`).catch(() => null);
    const items = response?.ok ? (await response.json()).items : [];
    if (number === asked) show(items);
  }

  function show(items) {
    const typed = input.value.trim().toLowerCase();
    const fitting = commands.filter((command) => command.textContent.toLowerCase().includes(typed));
    const sessions = items.map(({ title, href }, index) => {
      const option = page.createElement("li");
      option.setAttribute("role", "option");
      option.id = `palette-session-${index}`;
      option.dir = "auto";
      option.dataset.href = href;
      option.dataset.kind = list.dataset.sessions;
      option.textContent = title;
      return option;
    });
    list.replaceChildren(...(typed ? [...sessions, ...fitting] : [...fitting, ...sessions]));
    choose(0);
  }

  function choose(index) {
    const options = [...list.children];
    chosen = options.length ? (index + options.length) % options.length : 0;
    options.forEach((option, number) => option.setAttribute("aria-selected", String(number === chosen)));
    if (options.length) {
      input.setAttribute("aria-activedescendant", options[chosen].id);
      options[chosen].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }

  function run(option) {
    if (!option) return;
    if (option.dataset.href) location.assign(option.dataset.href);
    else chooseTheme(page, option.dataset.theme);
  }
}

function chooseTheme(page, theme) {
  const form = page.createElement("form");
  form.method = "post";
  form.action = "/theme";
  const back = location.pathname + location.search;
  for (const [name, value] of Object.entries({ token: page.body.dataset.token, theme, back })) {
    const field = page.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
  page.body.append(form);
  form.submit();
}
