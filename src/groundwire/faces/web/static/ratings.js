// Ratings of answers: two buttons, of which one may be pressed.
import { post } from "./stream.js";
import { toast } from "./toasts.js";

export function watchRatings(page) {
  const log = page.getElementById("log");
  const composer = page.getElementById("composer");
  if (!log || !composer) return;
  let ratings = {};

  const show = () => {
    for (const button of log.querySelectorAll('[data-do="rate"]')) {
      const pressed = ratings[button.closest("article").dataset.id] === button.dataset.rating;
      if (button.getAttribute("aria-pressed") !== String(pressed)) button.setAttribute("aria-pressed", String(pressed));
    }
  };
  if (composer.dataset.session) {
    fetch(`/chat/${composer.dataset.session}/ratings`)
      .then(async (response) => response.ok && (ratings = await response.json()))
      .then(show, () => null);
  }
  // Answers are replaced when they are complete or verified, and earlier ones are added.
  new MutationObserver(show).observe(log, { childList: true });

  log.addEventListener("click", async (event) => {
    const button = event.target.closest?.('[data-do="rate"]');
    if (!button) return;
    const article = button.closest("article");
    const rating = button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.rating;
    const body = { answer: Number(article.dataset.number), rating };
    const response = await post(`/chat/${composer.dataset.session}/rate`, body).catch(() => null);
    if (!response?.ok) return toast(response ? (await response.json()).message : page.body.dataset.connection);
    ratings[article.dataset.id] = rating;
    show();
    toast(rating ? page.body.dataset.rated : page.body.dataset.unrated);
  });
}
