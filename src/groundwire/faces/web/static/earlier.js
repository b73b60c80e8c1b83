// What was said before is put above when somebody comes near it; where they read does not move.
export function watchEarlier(page) {
  const look = new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) bring();
  }, { rootMargin: "2000px" });
  let busy = false;

  function watch() {
    const link = page.getElementById("earlier");
    if (link) look.observe(link);
  }

  async function bring() {
    const link = page.getElementById("earlier");
    if (busy || !link) return;
    busy = true;
    look.disconnect();
    const response = await fetch(link.href).catch(() => null);
    if (response?.ok) put(link, await response.text());
    busy = false;
    if (response?.ok) watch();
  }

  function put(link, html) {
    const whole = new DOMParser().parseFromString(html, "text/html");
    const before = [...whole.querySelectorAll("#log > article")].filter((one) => !page.getElementById(one.id));
    const further = whole.getElementById("earlier");
    const view = page.scrollingElement;
    const below = view.scrollHeight - view.scrollTop;
    link.parentElement.after(...before);
    if (further) link.href = further.getAttribute("href");
    else link.parentElement.remove();
    view.scrollTop = view.scrollHeight - below;
  }

  // The link of a search leads into the middle: there it is pressed, not come upon.
  if (new URLSearchParams(location.search).has("at")) return;
  // What is asked for is seen first.
  if (page.readyState === "complete") watch();
  else window.addEventListener("load", () => setTimeout(watch, 50));
}
