// The log of a session. HTML comes from the server, rendered and sanitised there.
const log = () => document.getElementById("log");

function nodes(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

function nearEnd() {
  const page = document.scrollingElement;
  return page.scrollHeight - page.scrollTop - page.clientHeight < 120;
}

export function toEnd() {
  document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
}

// What stood from this question on gives way to what is asked instead.
export function cutFrom(id) {
  let node = document.getElementById(`m-${id}`);
  while (node) {
    const next = node.nextElementSibling;
    node.remove();
    node = next;
  }
}

export function begin(turn) {
  document.getElementById("hello")?.remove();
  log().append(nodes(turn.html));
  toEnd();
  return document.getElementById(`m-${turn.answer}`);
}

export function grow(article, change) {
  const follows = nearEnd();
  const prose = article.querySelector(".prose");
  while (prose.children.length > change.keep) prose.lastElementChild.remove();
  for (const html of change.blocks) {
    const block = document.createElement("div");
    block.className = "block";
    block.dir = "auto";
    block.append(nodes(html));
    prose.append(block);
  }
  if (follows) toEnd();
}

export function tell(article, html) {
  article.querySelector(".status").replaceChildren(nodes(html));
}

// What was found, before the answer is complete.
export function preview(article, html) {
  const follows = nearEnd();
  article.querySelector(".progress").replaceChildren(nodes(html));
  if (follows) toEnd();
}

export function end(article, html) {
  const follows = nearEnd();
  const held = article.contains(document.activeElement);
  article.replaceWith(nodes(html));
  const fresh = log().lastElementChild;
  if (held) fresh.querySelector(".chip")?.focus({ preventScroll: true });
  if (follows) toEnd();
  return fresh;
}

export function breakOff(article) {
  article.removeAttribute("aria-busy");
  article.querySelector(".status").replaceChildren();
}
