// Loads earlier turns above the log when the reader scrolls near its top; the visible part does not move.
export function watchEarlier(page) {
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) load();
  }, { rootMargin: "2000px" });
  let loading = false;

  function watch() {
    const link = page.getElementById("earlier");
    if (link) observer.observe(link);
  }

  async function load() {
    const link = page.getElementById("earlier");
    if (loading || !link) return;
    loading = true;
    observer.disconnect();
    const response = await fetch(link.href).catch(() => null);
    if (response?.ok) insert(link, await response.text());
    loading = false;
    if (response?.ok) watch();
  }

  function insert(link, html) {
    const fetched = new DOMParser().parseFromString(html, "text/html");
    const before = [...fetched.querySelectorAll("#log > article")].filter((turn) => !page.getElementById(turn.id));
    const further = fetched.getElementById("earlier");
    const view = page.scrollingElement;
    const below = view.scrollHeight - view.scrollTop;
    link.parentElement.after(...before);
    if (further) link.href = further.getAttribute("href");
    else link.parentElement.remove();
    view.scrollTop = view.scrollHeight - below;
  }

  // A link from the history search opens the middle of a session: there, earlier turns load on a click only.
  if (new URLSearchParams(location.search).has("at")) return;
  // Show the requested turns first.
  if (page.readyState === "complete") watch();
  else window.addEventListener("load", () => setTimeout(watch, 50));
}
