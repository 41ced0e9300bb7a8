// Buttons with data-copy put their value on the clipboard and say so for a moment.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button || button.dataset.label) return;
  await navigator.clipboard.writeText(button.value);
  button.dataset.label = button.textContent;
  button.textContent = button.dataset.done;
  setTimeout(() => {
    button.textContent = button.dataset.label;
    delete button.dataset.label;
  }, 1500);
});
