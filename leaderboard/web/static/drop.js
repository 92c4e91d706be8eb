// Run files dropped anywhere on a task's pages are held for a look; without scripts the form takes them.
"use strict";

(() => {
  const link = document.querySelector("nav.tabs a[data-drop]");
  if (!link) return;
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");

  // All files of what was dropped, with the folders that they were in.
  async function unfolded(entry, folder = "") {
    if (entry.isFile) {
      const file = await new Promise((done, fail) => entry.file(done, fail));
      return [[file, folder + file.name]];
    }
    const reader = entry.createReader();
    const inside = [];
    // A browser names at most a hundred entries at a time.
    for (let some = [null]; some.length;) {
      some = await new Promise((done, fail) => reader.readEntries(done, fail));
      inside.push(...some);
    }
    const found = [];
    for (const one of inside) found.push(...await unfolded(one, `${folder}${entry.name}/`));
    return found;
  }

  function say(text) {
    let place = document.getElementById("dropped");
    if (!place) {
      place = document.createElement("p");
      place.id = "dropped";
      place.className = "note";
      place.setAttribute("role", "status");
      document.querySelector("nav.tabs").after(place);
    }
    place.textContent = text;
  }

  async function send(files) {
    const page = new DOMParser().parseFromString(await (await fetch(link.href)).text(), "text/html");
    const form = page.querySelector("form[enctype]");
    const own = page.querySelectorAll("#team option:not([value=list]):not([value=folder])");
    // Whose runs these are must be clear: else the form asks.
    if (!form || own.length !== 1) return location.assign(link.href);
    const sent = new FormData();
    sent.set("key", form.querySelector("[name=key]").value);
    sent.set("team", own[0].value);
    sent.set("hold", "1");
    for (const [file, name] of files) sent.append("file", file, name);
    say(`Sending ${files.length === 1 ? "a file" : `${files.length} files`}; they are held until you had a look.`);
    const answer = await fetch(link.href, { method: "POST", body: sent });
    if (answer.redirected) return location.assign(answer.url);
    const told = new DOMParser().parseFromString(await answer.text(), "text/html");
    say(told.querySelector("[role=alert], main p")?.textContent.trim() || "The files were not taken.");
  }

  addEventListener("dragover", (event) => { if (carriesFiles(event)) event.preventDefault(); });
  addEventListener("drop", async (event) => {
    // A file field takes what is dropped on it by itself.
    if (!carriesFiles(event) || event.target.closest("input[type=file]")) return;
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    try {
      await send((await Promise.all(entries.map((entry) => unfolded(entry)))).flat());
    } catch {
      say("The files could not be sent; try again, or use the form.");
    }
  });
})();
