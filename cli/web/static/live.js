// Keeps a page up to date: hears of events, fetches the page again, and changes only what
// differs. What a person has opened, chosen, scrolled to or is typing stays as it is.
"use strict";

(() => {
  const WAIT_MS = 100; // what comes close together is shown at once
  const AGAIN_MS = 1000;
  const CLOCK_MS = 60000; // what the page says by the clock changes without an event
  const body = document.body;
  const wanted = JSON.parse(body.dataset.streams || "[]");
  let position = Number(body.dataset.position || 0);
  let source = null;
  let timer = 0;
  let took = 0;
  let isFetching = false;
  let isStale = false;

  const parts = (from) => [...from.querySelectorAll("main > [id]")];
  // As the server sent them, whatever scripts make of them since.
  const known = new Map(parts(document).map((one) => [one.id, one.cloneNode(true)]));

  let lost = "";
  const say = (said, tone) => {
    const place = document.getElementById("live");
    lost = tone === "good" ? "" : lost || new Date().toLocaleTimeString("sv");
    const text = lost ? `${said}; as of ${lost}` : said;
    body.classList.toggle("lost", lost !== "");
    if (place === null || place.textContent === text) return;
    place.textContent = text;
    place.className = `chip ${tone}`;
  };

  // --- What differs --------------------------------------------------------------------

  const STAYS = { DETAILS: ["open"], INPUT: ["value", "checked"], OPTION: ["selected"] };

  const sameKind = (old, fresh) =>
    old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName &&
    (old.id || "") === (fresh.id || "");

  function changeAttributes(old, fresh) {
    const stays = STAYS[old.nodeName] || [];
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !stays.includes(name)) old.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (!stays.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  function change(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    changeAttributes(old, fresh);
    const named = new Map([...old.children].filter((one) => one.id).map((one) => [one.id, one]));
    let at = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const there = child.id ? named.get(child.id) : undefined;
      if (there !== undefined && there !== at) {
        old.insertBefore(there, at);
        change(there, child);
      } else if (at !== null && sameKind(at, child)) {
        change(at, child);
        at = at.nextSibling;
      } else {
        old.insertBefore(document.importNode(child, true), at);
      }
    }
    while (at !== null) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  // Parts of a sprint's page have tools that its own script makes: it puts them there again.
  function replace(shown, fresh) {
    const page = window.sprintlogPage;
    if (page === undefined || shown.id === "act" || shown.id === "head") {
      const made = document.importNode(fresh, true);
      made.hidden = shown.hidden;
      change(shown, made);
      return;
    }
    const summary = (one) => one.querySelector("summary")?.textContent;
    const open = [...shown.querySelectorAll("details[open]")].map(summary);
    page.replace(shown.id, fresh.outerHTML);
    const made = document.getElementById(fresh.id);
    for (const one of made.querySelectorAll("details")) {
      if (open.includes(summary(one))) one.open = true;
    }
  }

  function takeIn(fresh) {
    const now = parts(fresh);
    for (const part of now) {
      const before = known.get(part.id);
      const shown = document.getElementById(part.id);
      if (shown === null) document.querySelector("main").append(document.importNode(part, true));
      else if (before === undefined || !before.isEqualNode(part)) replace(shown, part);
      known.set(part.id, part.cloneNode(true));
    }
    for (const id of known.keys()) {
      if (now.some((part) => part.id === id)) continue;
      document.getElementById(id)?.remove();
      known.delete(id);
    }
    window.sprintlogPage?.update();
    localTimes();
    position = Math.max(position, Number(fresh.body.dataset.position || 0));
    body.dataset.position = String(position);
    document.title = fresh.title;
  }

  // A sprint's page has its own script for this.
  function localTimes() {
    if (window.sprintlogPage !== undefined) return;
    for (const shown of document.querySelectorAll("time[datetime]")) {
      const at = new Date(shown.dateTime);
      shown.title = `${shown.dateTime.slice(0, 19).replace("T", " ")} UTC`;
      shown.textContent = at.toLocaleString("sv");
    }
  }

  // --- When ----------------------------------------------------------------------------

  async function refresh() {
    if (isFetching) {
      isStale = true;
      return;
    }
    isFetching = true;
    isStale = false;
    const began = performance.now();
    try {
      const answer = await fetch(window.location.pathname + window.location.search);
      if (answer.ok) {
        takeIn(new DOMParser().parseFromString(await answer.text(), "text/html"));
        say("live", "good");
      } else if (answer.status === 401) {
        say("closed: open the printed address again", "bad");
      } else {
        say("waiting for the log", "open");
      }
    } catch {
      say("waiting for the server", "open");
    } finally {
      isFetching = false;
      took = performance.now() - began;
      if (isStale) soon();
    }
  }

  function soon() {
    clearTimeout(timer);
    // While much happens, it is fetched for a third of the time at most.
    timer = setTimeout(refresh, Math.max(WAIT_MS, took < 250 ? 0 : 2 * took));
  }

  function hear(message) {
    position = Math.max(position, Number(message.lastEventId));
    const { stream } = JSON.parse(message.data);
    const isOurs = (one) => stream === one || stream.startsWith(`${one}/`);
    if (wanted.length === 0 || wanted.some(isOurs)) soon();
  }

  function listen() {
    if (source !== null || document.hidden) return;
    source = new EventSource(`events?after=${position}`);
    source.onopen = () => say("live", "good");
    source.onmessage = hear;
    source.addEventListener("reset", () => window.location.reload());
    source.onerror = () => {
      say("waiting for the server", "open");
      if (source === null || source.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(listen, AGAIN_MS);
    };
  }

  // A browser opens few connections to one server: a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else {
      refresh();
      listen();
    }
  });
  setInterval(() => { if (!document.hidden && source !== null) refresh(); }, CLOCK_MS);
  document.addEventListener("DOMContentLoaded", () => {
    localTimes();
    if (body.dataset.partial) refresh();
  });
  listen();
})();
