// What pages gain where scripts run; none of them needs any of it.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  // Swedish writes dates as this site does.
  const format = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });
  const apart = new Date().getTimezoneOffset() !== 0 || new Date(0).getTimezoneOffset() !== 0;
  const page = document.documentElement.classList;

  function showTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
      time.title = `${format.format(new Date(time.dateTime))} ${zone}`;
      const here = document.createElement("span");
      here.className = "here";
      here.textContent = ` (${time.title})`;
      const next = time.nextSibling;
      time.parentNode.insertBefore(here, next?.data?.startsWith(" UTC") ? next.splitText(4) : next);
    }
  }

  function offerZone(place) {
    const button = document.createElement("button");
    const label = () => { button.textContent = `${page.contains("own-zone") ? "hide" : "show"} ${zone}`; };
    button.type = "button";
    button.className = "quiet";
    button.addEventListener("click", () => {
      localStorage.setItem("zone", page.toggle("own-zone") ? "own" : "");
      label();
    });
    page.toggle("own-zone", localStorage.getItem("zone") === "own");
    label();
    place.replaceChildren("Times in UTC, ", button, ".");
  }

  function offerCopies(root) {
    for (const text of root.querySelectorAll(".copy")) {
      if (text.dataset.copied !== undefined) continue;
      text.dataset.copied = "";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copies";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text.value ?? text.textContent);
          button.textContent = "Copied";
        } catch {
          // Browsers keep the clipboard from sites without https.
          if (text.select) text.select();
          else getSelection().selectAllChildren(text);
          button.textContent = "Marked: now copy it";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 3000);
      });
      text.before(button);
    }
  }

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

  function start(root) {
    if (apart) showTimes(root);
    offerCopies(root);
    if (found().length) for (const hint of root.querySelectorAll("[data-keys]")) hint.hidden = false;
  }

  start(document);
  if (apart) offerZone(document.getElementById("zone"));
  document.addEventListener("htmx:afterSettle", () => start(document));
})();
