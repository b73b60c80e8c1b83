// The navigation of narrow windows: a drawer over the page. It closes on Escape, on a click next to it, and when
// the focus leaves it.
export function watchDrawer(page) {
  const side = page.getElementById("side");
  const button = side?.querySelector(".menu");
  if (!button) return;
  const drawer = page.getElementById("drawer");
  const main = page.getElementById("main");

  const set = (open) => {
    side.classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
    main.inert = open;
    if (open) drawer.querySelector("a, button, input").focus();
    else if (drawer.contains(page.activeElement)) button.focus();
  };
  page.addEventListener("click", (event) => {
    if (event.target.closest?.(".menu")) set(!side.classList.contains("open"));
    else if (event.target.closest?.('[data-do="close-drawer"]')) set(false);
  });
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && side.classList.contains("open") && !page.querySelector("dialog[open]")) set(false);
  });
  window.matchMedia("(max-width: 760px)").addEventListener("change", () => set(false));
}

// The list of sessions shows times, so the server has to know the zone.
export function tellZone(page) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
  page.cookie = `groundwire_zone=${zone}; Path=/; Max-Age=31536000; SameSite=Strict`;
}
