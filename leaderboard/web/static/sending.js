// Shows how much of the chosen files has been sent; without scripts the browser sends the form itself.
"use strict";

(() => {
  const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

  function progressIn(form) {
    const place = document.createElement("p");
    const bar = document.createElement("progress");
    const text = document.createElement("span");
    const stop = document.createElement("button");
    bar.setAttribute("aria-label", "Upload progress");
    text.setAttribute("role", "status");
    stop.type = "button";
    stop.className = "quiet";
    stop.textContent = "Cancel";
    place.append(bar, " ", text, " ", stop);
    place.hidden = true;
    form.querySelector("button[type=submit]").closest("p").before(place);
    return { place, bar, text, stop };
  }

  function watch(form) {
    const chosen = form?.querySelector("#file");
    if (!chosen) return;
    const { place, bar, text, stop } = progressIn(form);
    let isSending = false;

    function say(words, isError = false) {
      text.className = isError ? "error" : "";
      text.textContent = words;
      bar.hidden = stop.hidden = isError;
      isSending = !isError;
    }

    // A refusal is the form again, with its problems.
    function show(answer) {
      const page = new DOMParser().parseFromString(answer, "text/html");
      document.querySelector("main").replaceWith(page.querySelector("main"));
      watch(document.querySelector("form[data-sending]"));
      document.querySelector("main [role=alert]")?.focus();
    }

    form.addEventListener("submit", (event) => {
      if (!chosen.files.length) return;
      event.preventDefault();
      if (isSending) return;
      const address = event.submitter?.formAction || form.action;
      const sender = new XMLHttpRequest();
      place.hidden = false;
      bar.value = 0;
      say("Sending.");
      sender.upload.addEventListener("progress", ({ loaded, total }) => {
        bar.value = loaded / total;
        say(loaded < total ? `${size(loaded)} of ${size(total)} sent.` : `${size(total)} sent. The site checks the files.`);
      });
      sender.addEventListener("load", () => {
        if (sender.responseURL !== address) location.assign(sender.responseURL);
        else show(sender.responseText);
      });
      sender.addEventListener("error", () => say("The connection was lost. Press the button to send the files again.", true));
      sender.addEventListener("abort", () => say("Cancelled. Nothing was submitted.", true));
      stop.onclick = () => sender.abort();
      sender.open("POST", address);
      sender.send(new FormData(form, event.submitter));
    });
  }

  watch(document.querySelector("form[data-sending]"));
})();
