// Forms: confirm before deleting, read a file into a field, open and close menus.
export function watchForms(page) {
  page.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
  page.addEventListener("change", async (event) => {
    const into = event.target.dataset?.into;
    if (into && event.target.files.length) {
      event.target.form.elements[into].value = await event.target.files[0].text();
    }
  });
  page.addEventListener("click", (event) => {
    for (const pop of page.querySelectorAll(".pop[open]")) {
      if (!pop.contains(event.target)) pop.removeAttribute("open");
    }
  });
  page.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const pop of page.querySelectorAll(".pop[open]")) {
      if (pop.contains(page.activeElement)) pop.querySelector("summary").focus();
      pop.removeAttribute("open");
    }
  });
}
