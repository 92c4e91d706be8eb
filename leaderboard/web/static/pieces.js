// Large run files of the upload form go in pieces and go on where they were cut off; without scripts they go whole.
"use strict";

(() => {
  const form = document.querySelector("form[data-pieces]");
  if (!form) return;
  const PIECE = 4 * 2 ** 20;
  const LARGE = 2 * PIECE;
  const files = () => [...form.querySelector("#file").files].filter((file) => file.size > LARGE);
  const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  let stopped = null;

  const place = document.createElement("p");
  const bar = document.createElement("progress");
  const text = document.createElement("span");
  const stop = document.createElement("button");
  bar.setAttribute("aria-label", "Sent so far");
  place.id = "sending";
  place.hidden = true;
  text.setAttribute("role", "status");
  stop.type = "button";
  stop.className = "quiet";
  stop.textContent = "Stop";
  stop.addEventListener("click", () => stopped.abort());
  place.append(bar, " ", text, " ", stop);
  form.querySelector("button[type=submit]:not([form])")?.closest("p").before(place);

  class Refused extends Error {}

  // The answer to a request; what the site refuses is thrown with its words.
  async function ask(address, options = {}) {
    const headers = { Accept: "application/json", ...options.headers };
    const answer = await fetch(address, { ...options, headers, signal: stopped.signal });
    if (answer.ok) return answer.json();
    if (answer.status >= 500) throw new TypeError(answer.statusText);
    const told = await answer.json();
    const refused = new Refused([told.error, ...told.problems.map((problem) => problem.remedy)].join(" "));
    refused.status = answer.status;
    throw refused;
  }

  const pause = (seconds) => new Promise((done) => {
    setTimeout(done, seconds * 1000);
    addEventListener("online", done, { once: true });
    stopped.signal.addEventListener("abort", done, { once: true });
  });

  // Calls until the network and the site are there again; for the time being it says so.
  async function patiently(call) {
    for (let wait = 1; ; wait = Math.min(2 * wait, 30)) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        text.textContent = `The site does not answer; trying again in ${wait} s.`;
        await pause(wait);
      }
    }
  }

  // What the site has of a file: of an earlier visit where it is still there, else begun.
  async function begun(file, isOnly) {
    const team = form.elements.team.value;
    const mark = ["piece", form.dataset.pieces, team, file.name, file.size, file.lastModified].join(" ");
    const earlier = localStorage.getItem(mark);
    if (earlier) {
      try {
        return await patiently(() => ask(earlier));
      } catch (error) {
        if (error.status !== 404) throw error;
        localStorage.removeItem(mark);
      }
    }
    const said = new FormData(form);
    for (const name of ["file", "piece", ...(isOnly ? [] : ["name"])]) said.delete(name);
    said.set("file_name", file.name);
    said.set("bytes", file.size);
    const made = await patiently(() => ask(form.dataset.pieces, { method: "POST", body: said }));
    localStorage.setItem(mark, made.address);
    return made;
  }

  async function sendWhole(file, isOnly) {
    let here = await begun(file, isOnly);
    while (here.offset < file.size) {
      bar.value = here.offset / file.size;
      text.textContent = `${file.name}: ${size(here.offset)} of ${size(file.size)} sent.`;
      const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Offset": here.offset };
      const body = file.slice(here.offset, here.offset + PIECE);
      try {
        here = await ask(here.address, { method: "PATCH", headers, body });
      } catch (error) {
        if (!(error instanceof TypeError) && error.status !== 409) throw error;
        // How much of a piece came that was cut off, the site knows.
        const { address } = here;
        text.textContent = "The connection was cut off; going on.";
        await pause(1);
        here = await patiently(() => ask(address));
      }
    }
    return here.id;
  }

  async function send(large) {
    const isOnly = form.querySelector("#file").files.length === 1;
    const tokens = [];
    for (const file of large) tokens.push(await sendWhole(file, isOnly));
    const rest = new DataTransfer();
    for (const file of form.querySelector("#file").files) if (!large.includes(file)) rest.items.add(file);
    form.querySelector("#file").files = rest.files;
    for (const token of tokens) {
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = "piece";
      field.value = token;
      form.append(field);
    }
    form.submit();
  }

  // Who comes back to the page finds it as it was when it was sent.
  addEventListener("pageshow", (event) => { if (event.persisted && stopped) location.reload(); });

  form.addEventListener("submit", async (event) => {
    const large = files();
    // Whose run each of many is, only the whole form says; checking takes no large files.
    const isPlain = /^\d+$/.test(form.elements.team.value) && !event.submitter?.hasAttribute("formaction");
    if (!large.length || !isPlain) return;
    event.preventDefault();
    if (stopped) return;
    stopped = new AbortController();
    place.hidden = false;
    stop.hidden = false;
    text.className = "";
    try {
      await send(large);
    } catch (error) {
      const isStop = error.name === "AbortError";
      text.className = isStop ? "" : "error";
      text.textContent = isStop ? "Stopped. Send goes on where it stopped." : error.message;
      stopped = null;
    }
    stop.hidden = true;
  });
})();
