// Buttons of code blocks.
export function watchCopy(page) {
  page.addEventListener("click", (event) => {
    const button = event.target.closest?.('[data-do="copy-code"]');
    if (button) copy(button, codeOf(button.parentElement.querySelector("code")));
  });
}

// The numbers of citations are not part of the code.
function codeOf(block) {
  const code = block.cloneNode(true);
  for (const cite of code.querySelectorAll(".cite")) cite.remove();
  return code.textContent;
}

// Copies a text, and says so on the button for a moment.
export async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.className = "visually-hidden";
    area.value = text;
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const before = button.textContent;
  button.textContent = document.body.dataset.copied;
  setTimeout(() => (button.textContent = before), 1500);
}
