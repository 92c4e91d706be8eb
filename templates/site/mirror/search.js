// Searches the titles of a mirror's pages in the browser: a mirror has no server.
"use strict";

(() => {
  const ENTRIES = {{ entries | safe }};
  const MOST = 200;
  const field = document.createElement("input");
  const status = document.createElement("p");
  const list = document.createElement("ul");
  field.type = "search";
  field.setAttribute("aria-label", "Search titles");
  status.setAttribute("role", "status");
  document.getElementById("search").append(field, status, list);

  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const titles = ENTRIES.map(([title]) => plain(title));

  function show() {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    const found = words.length ? ENTRIES.filter((_, place) => words.every((word) => titles[place].includes(word))) : [];
    status.textContent = words.length ? `${found.length} found${found.length > MOST ? `, the first ${MOST} shown` : ""}` : "";
    list.replaceChildren(...found.slice(0, MOST).map(([title, file]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `../${file.split("/").map(encodeURIComponent).join("/")}`;
      link.textContent = title;
      item.append(link);
      return item;
    }));
  }

  field.addEventListener("input", show);
  field.focus();
})();
