// The log of a session. HTML comes from the server, rendered and sanitised there.
const log = () => document.getElementById("log");

export function nodes(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

export function scrollToEnd() {
  document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
}

// Removes a question that is replaced, and everything after it.
export function removeFrom(id) {
  let node = document.getElementById(`m-${id}`);
  while (node) {
    const next = node.nextElementSibling;
    node.remove();
    node = next;
  }
}

// Adds a question and its answer, or replaces them with their present state.
export function showTurn(turn) {
  document.getElementById("hello")?.remove();
  let isNew = false;
  for (const article of [...nodes(turn.html).children]) {
    const shown = document.getElementById(article.id);
    if (shown) shown.replaceWith(article);
    else {
      log().append(article);
      isNew = true;
    }
  }
  const answer = document.getElementById(`m-${turn.answer}`);
  if (isNew) showFromQuestion(document.getElementById(`m-${turn.question}`), answer);
  return answer;
}

// Scrolls a new question to the top. The answer gets the rest of the screen at once, so that nothing moves while
// it grows: the reader begins at its beginning, and scrolls on at their own pace.
function showFromQuestion(question, answer) {
  const composer = document.getElementById("composer").getBoundingClientRect().height;
  const taken = parseFloat(getComputedStyle(question).scrollMarginTop) + question.offsetHeight + composer;
  const margins = 2 * parseFloat(getComputedStyle(answer).marginBottom);
  log().style.setProperty("--room", `${Math.max(0, window.innerHeight - taken - margins)}px`);
  question.scrollIntoView({ block: "start" });
}

export function updateBlocks(article, change) {
  const prose = article.querySelector(".prose");
  while (prose.children.length > change.keep) prose.lastElementChild.remove();
  for (const html of change.blocks) {
    const block = document.createElement("div");
    block.className = "block";
    block.dir = "auto";
    block.append(nodes(html));
    prose.append(block);
  }
}

export function setStatus(article, html) {
  article.querySelector(".status").replaceChildren(nodes(html));
}

// Searches and sources found so far, before the answer is complete.
export function setProgress(article, html) {
  article.querySelector(".progress").replaceChildren(nodes(html));
}

export function replaceAnswer(article, html) {
  const focused = article.contains(document.activeElement);
  article.replaceWith(nodes(html));
  const answer = log().lastElementChild;
  if (focused) answer.querySelector(".chip")?.focus({ preventScroll: true });
  return answer;
}

export function markInterrupted(article) {
  article.removeAttribute("aria-busy");
  article.querySelector(".status").replaceChildren();
}
