// Cards of citations are shown by style alone; here they are kept on the screen, and closed by Escape.
export function watchCards(page) {
  for (const kind of ["pointerover", "focusin"]) {
    page.addEventListener(kind, (event) => {
      const cite = event.target.closest?.(".cite");
      if (cite) place(cite);
    });
  }
  page.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const card of page.querySelectorAll(".cite:hover > .card, .chip:focus + .card")) card.classList.add("shut");
  });
}

function place(cite) {
  const card = cite.querySelector(".card");
  card.classList.remove("shut", "below");
  card.style.left = "0";
  const chip = cite.querySelector(".chip").getBoundingClientRect();
  card.classList.toggle("below", chip.top < card.offsetHeight + 70);
  const over = cite.getBoundingClientRect().left + card.offsetWidth - (document.documentElement.clientWidth - 12);
  if (over > 0) card.style.left = `${-over}px`;
}
