// Two keys that walk the relevant documents of a ranking.
"use strict";

(() => {
  const found = () => [...document.querySelectorAll(".relevant[id]")];

  function goTo(row) {
    row.scrollIntoView({ block: "center" });
    (row.querySelector("a") ?? row).focus({ preventScroll: true });
  }

  // Single letters work only while the ranking has the focus: speech input and screen readers use them too.
  document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    const within = event.target.closest?.('[role="region"]');
    if (!step || event.ctrlKey || event.altKey || event.metaKey || !within) return;
    const rows = found().filter((row) => within.contains(row));
    const here = event.target.closest("tr, li") ?? document.querySelector(":target");
    const follows = (row) => here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
    const later = rows.filter((row) => row !== here && (!here || follows(row)));
    const earlier = rows.filter((row) => here && row !== here && !follows(row));
    const next = step > 0 ? later[0] : earlier.at(-1);
    if (next) goTo(next);
  });

  addEventListener("hashchange", () => {
    const row = found().find((each) => `#${each.id}` === location.hash);
    if (row) goTo(row);
  });

  if (found().length) for (const hint of document.querySelectorAll("[data-keys]")) hint.hidden = false;
})();
