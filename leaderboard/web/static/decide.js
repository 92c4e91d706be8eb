// Deciding by keyboard: a key presses the button or link that names it, unless a note is being written.
"use strict";

(() => {
  const keys = document.getElementById("keys");
  if (!keys) return;
  let box = null;
  try {
    box = localStorage;
  } catch {
    // Some browsers keep nothing for sites: the choice then lasts as long as the page.
  }
  keys.checked = box?.getItem("judge-keys") !== "off";
  keys.addEventListener("change", () => box?.setItem("judge-keys", keys.checked ? "on" : "off"));
  keys.parentElement.hidden = false;
  document.addEventListener("keydown", (event) => {
    if (!keys.checked || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.target.closest("textarea, select, input:not([type=checkbox])")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const found = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    const line = document.getElementById("dead-key");
    const grades = [...document.querySelectorAll("[name=grade][data-key]")].map((button) => button.dataset.key).filter((key) => /^\d$/.test(key));
    // A digit that gives no grade must not look like one that was taken.
    if (line) line.textContent = !found && /^\d$/.test(event.key) ? `Key ${event.key} gives no grade here. Grades: ${grades.join(", ")}.` : "";
    if (line) line.hidden = !line.textContent;
    if (!found) return;
    event.preventDefault();
    if (found.matches("textarea")) found.focus();
    else found.click();
  });
})();
