// The matrix of all pairs where scripts run: a cell says which runs it compares, and opens their page.
"use strict";

(() => {
  const figure = document.querySelector(".pairs");
  const svg = figure.querySelector("svg");
  const output = figure.querySelector("output");
  const cursor = svg.querySelector(".cursor");
  const ids = figure.dataset.ids.split(" ");
  const [cell, left, top] = ["cell", "left", "top"].map((name) => Number(figure.dataset[name]));
  const names = [...svg.querySelectorAll("a text")].map((text) => text.textContent);
  const first = output.textContent;
  let at = null;

  function show(row, column) {
    const inside = row >= 0 && column >= 0 && row < ids.length && column < ids.length;
    at = inside && row !== column ? [row, column] : null;
    cursor.setAttribute("visibility", inside ? "visible" : "hidden");
    cursor.setAttribute("x", left + column * cell - 0.5);
    cursor.setAttribute("y", top + row * cell - 0.5);
    output.textContent = at ? `${names[row]} against ${names[column]}: ${verdict(row, column)}` : first;
  }

  // The kind of a cell is the path that its middle lies in.
  function verdict(row, column) {
    const point = new DOMPoint(left + (column + 0.5) * cell - 0.5, top + (row + 0.5) * cell - 0.5);
    const path = [...svg.querySelectorAll("path")].find((each) => each.isPointInStroke(point));
    const kind = path ? path.getAttribute("class") : "level";
    return kind.startsWith("up") ? "significantly better" : kind.startsWith("down") ? "significantly worse" : "undecided";
  }

  function place(event) {
    const box = svg.getBoundingClientRect();
    return [(event.clientY - box.top - top) / cell, (event.clientX - box.left - left) / cell].map(Math.floor);
  }

  function open() {
    if (!at) return;
    const address = new URL(figure.dataset.address, location);
    address.searchParams.set("a", ids[at[0]]);
    address.searchParams.set("b", ids[at[1]]);
    location.href = address.href;
  }

  svg.addEventListener("pointermove", (event) => show(...place(event)));
  svg.addEventListener("click", (event) => {
    if (event.target.closest("a")) return;
    show(...place(event));
    open();
  });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  let where = [0, -1];
  svg.parentElement.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === svg.parentElement) open();
    const step = steps[event.key];
    if (!step || event.target !== svg.parentElement) return;
    event.preventDefault();
    where = where.map((each, axis) => Math.min(ids.length - 1, Math.max(0, each + step[axis])));
    show(...where);
    cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
})();
