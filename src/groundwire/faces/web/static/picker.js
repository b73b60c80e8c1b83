// Who answers the next question: the model of the agent, or a provider with its default model or another one.
export function watchPicker(page) {
  const provider = page.getElementById("provider");
  if (!provider) return;
  const model = page.getElementById("model");
  const show = () => {
    model.parentElement.hidden = !provider.value;
    model.placeholder = provider.selectedOptions[0].dataset.model || model.dataset.hint;
  };
  model.dataset.hint = model.placeholder;
  provider.addEventListener("change", () => {
    model.value = "";
    show();
  });
  show();
}
