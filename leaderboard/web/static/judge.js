// Judging without waiting; decide.js has the keys. Every judgment is kept in this browser until the site says that it has it.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const desk = document.querySelector("[data-assessor]");
  const prefix = `judge:${desk.dataset.assessor}:`;
  const memory = new Map();
  const refused = new Map();
  let box, timer;
  let sending = false;
  let pause = 0;
  let sent = () => {};

  try {
    box = localStorage;
  } catch {
    // Some browsers keep nothing for sites: then judgments last as the page does.
  }
  const read = (name) => memory.get(name) ?? box?.getItem(name);
  // Names begin with the time: the first judgment is sent first.
  const names = () => [...new Set([...memory.keys(), ...Object.keys(box ?? {})])].sort();
  const waiting = () => names().filter((name) => name.startsWith(prefix) && !refused.has(name));

  function keep(judgment) {
    const name = prefix + judgment.key;
    refused.delete(name);
    try {
      box.setItem(name, JSON.stringify(judgment));
    } catch {
      memory.set(name, JSON.stringify(judgment));
    }
  }

  function tell() {
    const late = waiting().length;
    const words = [];
    if (late && (pause || !navigator.onLine)) {
      words.push(`${late} not sent yet, ${memory.size ? "keep this page open" : "kept in this browser"} until the connection is back.`);
    }
    if (refused.size) words.push(`${refused.size} not accepted, but kept: ${[...refused.values()].at(-1)}`);
    byId("unsent").textContent = words.join(" ");
    byId("unsent").hidden = !words.length;
  }

  async function post({ address, ...judgment }) {
    const body = JSON.stringify({ ...judgment, sent_at: new Date().toISOString() });
    const type = "application/json";
    const [pool, topic] = address.split(/\/(.*)/);
    const answer = await fetch(`${desk.dataset.base}/pools/${pool}/topics/${topic}`, {
      method: "POST", headers: { Accept: type, "Content-Type": type }, body, keepalive: true,
    });
    // No cache takes it, so it holds its connection until it is read.
    if (answer.ok) await answer.text();
    return answer;
  }

  async function send() {
    if (sending) return;
    sending = true;
    clearTimeout(timer);
    for (let name; (name = waiting()[0]);) {
      const text = read(name);
      const answer = await post(JSON.parse(text)).catch(() => null);
      if (answer?.ok) {
        pause &&= 1;
        // It may have been taken back while it was on its way.
        if (read(name) === text) {
          memory.delete(name);
          box?.removeItem(name);
        }
      } else if (answer && answer.status < 500 && answer.status !== 429) {
        refused.set(name, (await answer.json().catch(() => ({}))).detail ?? "");
      } else {
        pause = Math.max(1000 * (answer?.headers.get("Retry-After") ?? 0), Math.min(Math.max(2 * pause, 1000), 30000));
        timer = setTimeout(send, pause);
        break;
      }
      tell();
    }
    sending = false;
    if (!waiting().length) pause = 0;
    tell();
    if (!pause) sent();
  }

  function judging(form) {
    const { address, level, adaptive, total } = form.dataset;
    const { note, docno, key, shown_at: moment } = form.elements;
    const action = form.getAttribute("action");
    const list = byId("documents");
    const done = [];
    const took = [];
    let current = list.querySelector("article");
    let since = new Date();
    let fetching = false;

    const ahead = () => [...list.children].filter((each) => each !== current && !done.some(({ article }) => article === each));
    const newKey = () => `${Date.now().toString(36)}-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;

    function show(article) {
      if (current) current.hidden = true;
      current = article;
      since = new Date();
      byId("waits").hidden = Boolean(article);
      // What came next depends on a judgment made, or taken back.
      if (adaptive) for (const each of ahead()) each.remove();
      if (!article) return;
      article.hidden = false;
      note.value = article.dataset.note;
      docno.value = article.dataset.docno;
      key.value = newKey();
      moment.value = since.toISOString();
      list.scrollIntoView();
      article.focus({ preventScroll: true });
      history.replaceState(null, "", action);
    }

    function count(step, { article, judgment }) {
      if (article.dataset.judged) return;
      const place = byId(judgment.grade === null ? "skipped" : "judged");
      place.textContent = Number(place.textContent) + step;
      byId("progress").value += step;
      const pace = took.length < 3 ? Number(form.dataset.pace) : [...took].sort((a, b) => a - b)[took.length >> 1];
      const minutes = Math.ceil((pace * Math.max(total - byId("progress").value, 0)) / 60);
      if (pace) byId("pace").textContent = `${pace < 1 ? "under 1" : Math.round(pace)} s per document, about ${minutes} min left`;
    }

    function judge(value) {
      if (!current) return;
      const at = new Date();
      const grade = value === "skip" ? null : Number(value);
      const judgment = {
        key: newKey(), address, docno: current.dataset.docno, grade, note: note.value.trim(),
        shown_at: since.toISOString(), saved_at: at.toISOString(), undone: false,
      };
      current.dataset.note = judgment.note;
      keep(judgment);
      done.push({ article: current, judgment });
      if (at - since <= 300000) took.push((at - since) / 1000);
      count(1, done.at(-1));
      const way = grade >= level ? "relevant" : "other";
      show(ahead().find((each) => !adaptive || grade !== null && [undefined, way].includes(each.dataset.condition)) ?? null);
      send();
    }

    function takeBack() {
      const last = done.pop();
      if (!last) {
        if (!waiting().length) byId("undo").submit();
        return;
      }
      last.judgment.undone = true;
      keep(last.judgment);
      count(-1, last);
      show(last.article);
      send();
    }

    async function more() {
      if (fetching || ahead().length >= (adaptive ? 1 : 5)) return;
      const last = adaptive ? current : list.lastElementChild;
      const found = document.createElement("template");
      fetching = true;
      try {
        const answer = await fetch(`${action}/documents?${new URLSearchParams({ after: last.dataset.docno })}`);
        if (answer.ok) found.innerHTML = await answer.text();
      } catch {
        // Asked again after the next judgment.
      }
      fetching = false;
      // Of an adaptive pool these come next only while no judgment does.
      if (adaptive && last !== current) return;
      const seen = new Set([...list.children].map((each) => each.dataset.docno));
      list.append(...[...found.content.children].filter((each) => !seen.has(each.dataset.docno)));
    }

    const usual = () => { if (current) more(); else location.assign(action); };
    // What was judged before and not sent is on the page again, until the site has it.
    const old = waiting().filter((name) => JSON.parse(read(name)).address === address);
    sent = () => { if (!old.length || old.some(read)) usual(); else location.reload(); };

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (event.submitter) judge(event.submitter.value);
    });
    byId("undo").addEventListener("submit", (event) => {
      event.preventDefault();
      takeBack();
    });
    note.addEventListener("keydown", (event) => { if (event.key === "Escape") current?.focus(); });
    current.focus({ preventScroll: true });
  }

  addEventListener("online", send);
  addEventListener("offline", tell);
  if (byId("judgment")) judging(byId("judgment"));
  send();
})();
