// What pages gain where scripts run; none needs it.
"use strict";

(() => {
  const apart = [Date.now(), 0].some((at) => new Date(at).getTimezoneOffset());
  const page = document.documentElement.classList;
  let zone, format;

  // It takes slow phones 0.1 s: no page waits for it.
  function loadZone() {
    zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
    // Swedish dates are this site's.
    format = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });
    showTimes(document);
    offerZone(document.getElementById("zone"));
  }

  function showTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
      const at = format.format(new Date(time.dateTime));
      // A deadline to the second is shown so here too: zones are apart by minutes.
      const seconds = time.textContent.slice("2026-05-31 23:59".length);
      time.title = `${at}${seconds} ${zone}`;
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
          // Without https browsers keep the clipboard.
          if (text.select) text.select();
          else getSelection().selectAllChildren(text);
          button.textContent = "Marked: now copy it";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 3000);
      });
      text.before(button);
    }
  }

  // A PNG is drawn here from the SVG file, at twice its size: the site needs no program that draws.
  function offerPngs(root) {
    for (const link of root.querySelectorAll("a[data-png]")) {
      link.parentElement.hidden = false;
      if (link.dataset.offered) continue;
      link.dataset.offered = "yes";
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const image = new Image();
        image.addEventListener("load", () => {
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
          canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
          canvas.toBlob((blob) => {
            const made = document.createElement("a");
            made.href = URL.createObjectURL(blob);
            made.download = `${link.dataset.png}.png`;
            made.click();
            URL.revokeObjectURL(made.href);
          });
        });
        image.src = link.href;
      });
    }
  }

  // A menu closes when something else is chosen, as menus do.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.activeElement?.closest("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  function start(root) {
    if (format) showTimes(root);
    offerCopies(root);
    offerPngs(root);
  }

  start(document);
  if (apart) requestAnimationFrame(() => setTimeout(loadZone));
  document.addEventListener("htmx:afterSettle", () => start(document));
})();
