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
  const again = () => shown(page).forEach((card) => place(card.parentElement));
  page.addEventListener("scroll", again, { capture: true, passive: true });
  window.addEventListener("resize", again, { passive: true });
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

// Above the chip if there is room below the title of the page, else below it, else where there is more room;
// never beyond an edge, even if it covers the chip.
function place(cite) {
  const card = cite.querySelector(".card");
  const chip = cite.querySelector(".chip").getBoundingClientRect();
  const screen = document.documentElement;
  const above = chip.top - GAP - card.offsetHeight;
  const below = chip.bottom + GAP;
  const lowest = screen.clientHeight - EDGE - card.offsetHeight;
  const first = above > pageHead() || (below > lowest && chip.top > screen.clientHeight - chip.bottom);
  card.style.bottom = "auto";
  card.style.top = `${between(EDGE, first ? above : below, lowest)}px`;
  card.style.left = `${between(EDGE, chip.left, screen.clientWidth - EDGE - card.offsetWidth)}px`;
}

function between(least, wanted, most) {
  return Math.max(least, Math.min(wanted, most));
}

function pageHead() {
  return document.querySelector(".chat .top")?.getBoundingClientRect().bottom ?? 0;
}
