"use strict";

// Each entry of the index: address, title of the page, heading, text.
const box = document.querySelector(".search");
const input = document.getElementById("query");
const results = document.getElementById("results");
const status = results.querySelector("p");
const list = results.querySelector("ol");
const MOST = 12;
let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.index;
    script.addEventListener("load", () => resolve(self.searchIndex));
    script.addEventListener("error", () => reject(new Error(script.src)));
    document.head.append(script);
  });
  return loading;
}

function count(text, word) {
  return text.split(word).length - 1;
}

// A word in a title weighs more than one in a heading, and one in a heading more than one in the text. All words must occur.
function score([, title, heading, text], words) {
  const [page, part, body] = [title, heading, text].map((item) => item.toLowerCase());
  let sum = 0;
  for (const word of words) {
    const found = 12 * count(page, word) + 20 * count(part, word) + Math.min(count(body, word), 6);
    if (!found) return 0;
    sum += found;
  }
  return sum;
}

function excerpt(text, words) {
  const at = text.toLowerCase().indexOf(words[0]);
  const start = Math.max(0, at - 60);
  return (start ? "…" : "") + text.slice(start, start + 160) + (start + 160 < text.length ? "…" : "");
}

function entry([address, title, heading, text], words) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = address;
  link.textContent = title === heading ? title : `${title}: ${heading}`;
  const about = document.createElement("span");
  about.textContent = excerpt(text, words);
  item.append(link, about);
  return item;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = words.length === 0;
  if (results.hidden) return;
  let index;
  try {
    index = await load();
  } catch {
    loading = null;
    status.textContent = "The search index could not be loaded.";
    return;
  }
  const found = index
    .map((item) => [score(item, words), item])
    .filter(([points]) => points > 0)
    .sort((one, other) => other[0] - one[0]);
  status.textContent = found.length === 1 ? "1 section" : `${found.length} sections`;
  list.replaceChildren(...found.slice(0, MOST).map(([, item]) => entry(item, words)));
}

function close() {
  results.hidden = true;
}

input.addEventListener("input", search);
input.addEventListener("focus", search);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter") list.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
  if (event.key !== "/" || event.ctrlKey || event.metaKey || document.activeElement === input) return;
  event.preventDefault();
  input.focus();
});
document.addEventListener("click", (event) => {
  if (!box.contains(event.target) || event.target.closest("#results a")) close();
});
box.addEventListener("focusout", (event) => {
  if (event.relatedTarget && !box.contains(event.relatedTarget)) close();
});
box.hidden = false;
