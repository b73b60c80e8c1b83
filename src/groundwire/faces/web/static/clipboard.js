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
