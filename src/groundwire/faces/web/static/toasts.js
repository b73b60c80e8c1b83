// Short messages in a corner of the page. They go away by themselves; screen readers announce them.
const SECONDS = 6;

export function toast(text) {
  const note = document.createElement("p");
  note.className = "toast";
  note.textContent = text;
  document.getElementById("toasts").append(note);
  expire(note);
}

export function watchToasts(page) {
  page.querySelectorAll(".toast").forEach(expire);
}

function expire(note) {
  setTimeout(() => note.remove(), SECONDS * 1000);
}
