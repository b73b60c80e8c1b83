// CSS alone shows the cards of citations; this script positions them next to their chip and closes them on Escape.
const GAP = 6;
const EDGE = 12;
// There, the style sheet shows the card at the bottom of the screen.
const NARROW = window.matchMedia("(max-width: 760px)");

export function watchCards(page) {
  for (const kind of ["pointerover", "focusin"]) {
    page.addEventListener(kind, (event) => {
      const cite = event.target.closest?.(".cite");
      if (cite && !cite.contains(event.relatedTarget)) open(cite);
    });
  }
  const reposition = () => shown(page).forEach((card) => position(card.parentElement));
  page.addEventListener("scroll", reposition, { capture: true, passive: true });
  window.addEventListener("resize", reposition, { passive: true });
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const card of shown(page)) card.classList.add("closed");
  });
}

function shown(page) {
  return page.querySelectorAll(".cite:hover > .card, .chip:focus + .card");
}

function open(cite) {
  cite.querySelector(".card").classList.remove("closed");
  position(cite);
}

// Above the chip if there is room under the page header, else below it, else on the side with more room;
// never outside the viewport, even if the card covers the chip.
function position(cite) {
  const card = cite.querySelector(".card");
  if (NARROW.matches) return card.removeAttribute("style");
  const chip = cite.querySelector(".chip").getBoundingClientRect();
  const screen = document.documentElement;
  const above = chip.top - GAP - card.offsetHeight;
  const below = chip.bottom + GAP;
  const lowest = screen.clientHeight - EDGE - card.offsetHeight;
  const fitsAbove = above > headerBottom() || (below > lowest && chip.top > screen.clientHeight - chip.bottom);
  card.style.bottom = "auto";
  card.style.top = `${clamp(EDGE, fitsAbove ? above : below, lowest)}px`;
  card.style.left = `${clamp(EDGE, chip.left, screen.clientWidth - EDGE - card.offsetWidth)}px`;
}

function clamp(least, wanted, most) {
  return Math.max(least, Math.min(wanted, most));
}

function headerBottom() {
  return document.querySelector(".chat .top")?.getBoundingClientRect().bottom ?? 0;
}
