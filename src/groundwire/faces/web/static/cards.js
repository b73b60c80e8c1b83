// Cards of citations are shown by style alone; here they are put beside their chip, and closed by Escape.
const GAP = 6;
const EDGE = 12;

export function watchCards(page) {
  for (const kind of ["pointerover", "focusin"]) {
    page.addEventListener(kind, (event) => {
      const cite = event.target.closest?.(".cite");
      if (cite && !cite.contains(event.relatedTarget)) open(cite);
    });
  }
  page.addEventListener("scroll", () => shown(page).forEach((card) => place(card.parentElement)), { capture: true, passive: true });
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const card of shown(page)) card.classList.add("shut");
  });
}

function shown(page) {
  return page.querySelectorAll(".cite:hover > .card, .chip:focus + .card");
}

function open(cite) {
  cite.querySelector(".card").classList.remove("shut");
  place(cite);
}

// Above the chip if there is room below the title of the page, else below it; never beyond an edge.
function place(cite) {
  const card = cite.querySelector(".card");
  const chip = cite.querySelector(".chip").getBoundingClientRect();
  const head = pageHead();
  const above = chip.top - GAP - card.offsetHeight;
  const most = document.documentElement.clientWidth - EDGE - card.offsetWidth;
  card.style.top = `${above > head ? above : chip.bottom + GAP}px`;
  card.style.left = `${Math.max(EDGE, Math.min(chip.left, most))}px`;
}

function pageHead() {
  return document.querySelector(".chat .top")?.getBoundingClientRect().bottom ?? 0;
}
