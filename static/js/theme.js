// Runs before the page is drawn, so that a chosen colour scheme never flashes the other one.
(() => {
  const KEY = "modelen-theme";
  const root = document.documentElement;
  const set = (theme) => (theme ? (root.dataset.theme = theme) : delete root.dataset.theme);
  const stored = () => {
    try {
      return localStorage.getItem(KEY) ?? "";
    } catch {
      return ""; // storage is switched off
    }
  };

  set(stored());
  if (navigator.clipboard) root.classList.add("can-copy");

  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.querySelector("[data-theme-choice]");
    const select = choice.querySelector("select");
    select.value = stored();
    choice.hidden = false;
    select.addEventListener("change", () => {
      set(select.value);
      try {
        localStorage.setItem(KEY, select.value);
      } catch {
        // the choice holds for this page only
      }
    });
  });
})();
