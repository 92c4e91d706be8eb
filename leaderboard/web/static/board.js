// A board where scripts run: ticks are counted, kept in the address and taken along, and filters answer at once.
"use strict";

(() => {
  const bar = () => document.getElementById("compare");
  const ticked = () => (bar() ? new FormData(bar()).getAll("run") : []);
  const isBoard = (address) => address.origin === location.origin && address.pathname === location.pathname;

  function withTicks(address) {
    address.searchParams.delete("ticked");
    for (const run of ticked()) address.searchParams.append("ticked", run);
    return address;
  }

  function count() {
    if (!bar()) return;
    const runs = ticked();
    bar().querySelector("output").textContent = runs.length ? `${runs.length} selected:` : "Select runs to compare.";
    for (const button of bar().querySelectorAll("button, a")) button.hidden = !runs.length;
    const address = withTicks(new URL(location));
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  }

  // The page scrolls, not a box in it; the head of a table that fits then sticks to the window.
  function fit() {
    for (const table of document.querySelectorAll(".scroll > .live")) {
      table.parentElement.classList.toggle("fits", table.offsetWidth <= table.parentElement.clientWidth);
    }
  }
  fit();
  addEventListener("resize", fit);

  // The forms of a board were drawn for the address it had then; what was ticked or filtered since is in today's.
  function upToDate(form, data) {
    const own = new Set();
    for (const field of form.elements) {
      if (!field.name) continue;
      if (field.type === "hidden") data.delete(field.name);
      else own.add(field.name);
      if (field.type !== "hidden" && field.value === "") data.delete(field.name);
    }
    for (const name of form.dataset.replaces?.split(" ") ?? []) own.add(name);
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (!own.has(name)) data.append(name, value);
    }
  }

  document.addEventListener("formdata", (event) => {
    const form = event.target;
    if (form !== bar() && form.method === "get" && isBoard(new URL(form.action))) upToDate(form, event.formData);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link) return;
    if (link.hasAttribute("data-clears")) {
      event.preventDefault();
      for (const field of bar().elements) field.checked = false;
      for (const field of bar().querySelectorAll('[name="run"]')) field.remove();
      count();
      return;
    }
    const address = new URL(link.href);
    if (isBoard(address) && address.search !== location.search) link.href = withTicks(address).href;
  });

  document.addEventListener("change", (event) => {
    if (event.target.form === bar()) count();
  });
  document.addEventListener("htmx:afterSettle", count);
  document.addEventListener("htmx:afterSettle", fit);
  // A page that the browser kept comes back with its boxes as they were, its address as it was before.
  addEventListener("pageshow", count);
})();
