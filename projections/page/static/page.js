"use strict";
// The overview and the tables are complete without this script. It adds: the views of
// iterations and comparisons, one section at a time, local times, copy buttons, filters,
// sorting, zoom, densities and keys.
(() => {
  const kept = { filters: {}, sorts: {}, density: "full", zoom: 1, chosen: [], page: 0 };
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const PAGE = window.matchMedia("(max-width: 640px)").matches ? 20 : 50;
  const OVERVIEW = ["head", "act", "quality", "plan"];
  const view = document.createElement("main");
  const sprint = document.body.dataset.sprint; // only on a server's page
  let fetched = new Map();

  function make(name, given = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(given)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...inside);
    return made;
  }

  function tools(section) {
    let box = one(".tools", section);
    if (!box) {
      box = make("div", { class: "tools" });
      const note = one("h2 + .note", section);
      (note || one("h2", section)).after(box);
    }
    return box;
  }

  // --- Filters and densities -----------------------------------------------------------

  function filter(section, table) {
    const words = (kept.filters[section.id] || "").toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all("tbody tr", table);
    const found = rows.filter((row) => {
      // An iteration is also found by the texts of its view, if the page contains them.
      const view_ = words.length && row.dataset.n && document.getElementById(`i${row.dataset.n}`);
      const said = `${row.textContent} ${view_?.content?.textContent || ""}`.toLowerCase();
      row.hidden = !words.every((word) => said.includes(word));
      return !row.hidden;
    });
    const count = one("output", section);
    if (count) count.textContent = words.length ? `${found.length} of ${rows.length}` : "";
    if (section.id === "iterations") turnTo(section, found, kept.page);
  }

  // The table of iterations shows one page of the rows that the filter leaves.
  function turnTo(section, found, wanted) {
    const pages = Math.max(Math.ceil(found.length / PAGE), 1);
    const page = Math.min(wanted, pages - 1);
    kept.turn = (by) => {
      if (page + by < 0 || page + by >= pages) return false;
      kept.page = page + by;
      turnTo(section, found, kept.page);
      return true;
    };
    found.forEach((row, at) => { row.hidden = Math.floor(at / PAGE) !== page; });
    const shown = found.slice(page * PAGE, (page + 1) * PAGE);
    label(section, shown);
    shown.forEach(addChoice);
    showChoice(section);
    let box = one(".pages", section);
    if (!box) tools(section).append(box = make("span", { class: "pages" }));
    box.hidden = pages < 2;
    const range = (at) => `${at * PAGE + 1} – ${Math.min((at + 1) * PAGE, found.length)} of ${found.length.toLocaleString("en")}`;
    const options = [...Array(pages).keys()].map((at) => make("option", { value: at, selected: at === page }, range(at)));
    const turn = (word, by) => make("button", { type: "button", "aria-label": word, disabled: page + by < 0 || page + by >= pages,
      onclick: () => { kept.turn(by); one(`[aria-label="${word}"]`, box).focus(); } }, by < 0 ? "‹" : "›");
    const choice = make("select", { "aria-label": "rows", onchange: () => {
      kept.turn(Number(choice.value) - page);
      one("select", box).focus();
    } }, ...options);
    box.replaceChildren(turn("previous rows", -1), choice, turn("next rows", 1));
  }

  function addFilter(section, table) {
    const input = make("input", {
      type: "search", value: kept.filters[section.id] || "", "aria-label": `filter ${section.id}`,
      placeholder: section.id === "iterations" ? "prompts, answers, files …" : "filter", oninput: () => {
        kept.filters[section.id] = input.value;
        kept.page = 0;
        filter(section, table);
      },
    });
    tools(section).append(input, make("output", { class: "note", "aria-live": "polite" }));
    filter(section, table);
  }

  function addDensities(section) {
    const choose = (density) => {
      kept.density = density;
      section.dataset.density = density;
      for (const button of buttons) button.setAttribute("aria-pressed", button.value === density);
    };
    const words = { brief: "what matters", full: "all", data: "with data" };
    const buttons = Object.entries(words).map(([value, word]) =>
      make("button", { type: "button", value, onclick: () => choose(value) }, word));
    tools(section).append(...buttons);
    choose(kept.density);
  }

  // --- Sorting -------------------------------------------------------------------------

  function number(said) {
    const found = said.replace(/[$,%]|at least /g, "").match(/^[+-]?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  }

  function sort(table, index, ascending) {
    const body = one("tbody", table);
    const rows = [...body.rows].map((row) => [row, row.cells[index].dataset.ms || row.cells[index].textContent.trim()]);
    const unknown = (said) => said === "–";
    rows.sort(([, a], [, b]) => {
      if (unknown(a) || unknown(b)) return unknown(a) - unknown(b); // last, both ways
      const [x, y] = [number(a), number(b)];
      const by = x !== null && y !== null ? x - y : a < b ? -1 : a > b ? 1 : 0;
      return ascending ? by : -by;
    });
    body.append(...rows.map(([row]) => row));
    all("thead th", table).forEach((head, at) => {
      if (at === index) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  // A file has the rows of older iterations as text, which is parsed when it is needed.
  function whole() {
    const older = one("#iterations noscript");
    if (!older) return;
    const [section, box] = [one("#iterations"), make("template")];
    // It has elements if a live page replaced the section, and text otherwise.
    if (older.firstElementChild) box.content.append(older.firstElementChild);
    else box.innerHTML = older.textContent;
    older.remove();
    const table = one("table", section);
    one("tbody", table).append(...all("tbody tr", box.content));
    if (kept.sorts[section.id]) sort(table, ...kept.sorts[section.id]);
    filter(section, table);
  }

  // On a phone a row is a card, in which each figure has its name.
  function label(section, rows) {
    const names = all("thead th", section).map((head) => head.textContent);
    rows.forEach((row) => [...row.cells].forEach((cell, at) => { cell.dataset.label = names[at]; }));
    one("table", section).classList.add("labelled");
  }

  function addSorting(section, table) {
    all("thead th", table).forEach((head, index) => {
      const button = make("button", {
        type: "button", onclick: () => {
          const ascending = head.getAttribute("aria-sort") !== "ascending";
          kept.sorts[section.id] = [index, ascending];
          sort(table, index, ascending);
          kept.page = 0;
          filter(section, table);
        },
      }, head.textContent);
      head.replaceChildren(button);
    });
    if (kept.sorts[section.id]) sort(table, ...kept.sorts[section.id]);
  }

  // --- Zoom ----------------------------------------------------------------------------

  function addZoom(section) {
    const drawing = one("svg.gantt", section);
    if (!drawing) return;
    const box = drawing.parentElement;
    const zoom = (factor) => {
      const middle = (box.scrollLeft + box.clientWidth / 2) / drawing.clientWidth;
      kept.zoom = Math.min(Math.max(factor, 1), 64);
      drawing.style.width = `${kept.zoom * 100}%`;
      drawing.classList.toggle("zoomed", kept.zoom > 1);
      box.scrollLeft = middle * drawing.clientWidth - box.clientWidth / 2;
      shown.textContent = kept.zoom > 1 ? `${kept.zoom} times` : "";
    };
    const shown = make("output", { class: "note" });
    const button = (label, word, act) =>
      make("button", { type: "button", "aria-label": label, onclick: act }, word);
    tools(section).append(
      button("zoom in", "+", () => zoom(kept.zoom * 2)),
      button("zoom out", "−", () => zoom(kept.zoom / 2)),
      button("show all", "all", () => zoom(1)), shown);
    if (kept.zoom > 1) zoom(kept.zoom);
  }

  // --- Views of iterations -------------------------------------------------------------

  const numbers = () => all("#iterations tbody tr[data-n]").map((row) => Number(row.dataset.n)).sort((a, b) => a - b);

  // Iterations older than those of the table are neighbours by number.
  function near(number_, by) {
    const there = numbers();
    const at = there.indexOf(number_);
    const next = (at < 0 ? undefined : there[at + by]) ?? number_ + by;
    return next < 1 || next > there.at(-1) ? undefined : next;
  }

  async function article(number_) {
    const held = document.getElementById(`i${number_}`);
    if (held) {
      const box = make("template");
      box.innerHTML = held.innerHTML;
      const made = one("article", box.content);
      if (!one(".facts", made)) one(".sides", made).lastChild.prepend(figuresOfRow(number_, made));
      return made;
    }
    if (sprint === undefined) return null;
    if (!fetched.has(number_)) {
      const asked = new URLSearchParams({ id: sprint, n: number_ });
      const answer = await fetch(`iteration?${asked}`);
      fetched.set(number_, answer.ok ? await answer.text() : "");
    }
    const box = make("template");
    box.innerHTML = fetched.get(number_);
    return one("article", box.content);
  }

  // The view of an old iteration lacks its figures, because its row has them.
  function figuresOfRow(number_, made) {
    whole();
    const rowOf = (n) => one(`#iterations tr[data-n="${n}"]`);
    const before = rowOf(Number(one(".note a", made)?.hash.slice(2)) || 0);
    const heads = all("#iterations thead th").map((head) => head.textContent);
    const rows = [...rowOf(number_).cells].flatMap((cell, at) => {
      if (at === 0 || cell.className) return [];
      const said = cell.textContent === "–" ? "unknown" : cell.textContent;
      return [[heads[at], said, before ? change(before.cells[at].textContent, said) : ""]];
    });
    return make("section", {}, make("h2", {}, "Figures"), facts(["figure", "value", "to previous"], rows));
  }

  function facts(heads, rows) {
    const row = ([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((said) => make("td", { class: "num" }, said)));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "figures, as a table" }, make("table", { class: "facts" },
      make("thead", {}, make("tr", {}, ...heads.map((said) => make("th", { scope: "col" }, said)))), make("tbody", {}, ...rows.map(row))));
  }

  function missing(number_) {
    return make("article", {}, make("h1", {}, `Iteration ${number_}`),
      make("p", {}, "This view is not available here; a terminal prints it: ",
        make("code", { class: "command copy" }, `sprintlog report ${number_}`)));
  }

  const link = (label, hash, given = {}) => make("a", { href: `#${hash}`, ...given }, label);

  function bar(number_) {
    const asked = (word, hash) => {
      const input = make("input", { type: "number", min: 0, inputmode: "numeric", onchange: () => { if (input.value) window.location.hash = hash(Number(input.value)); } });
      return make("label", {}, word, input);
    };
    const beside = [[near(number_, -1), (n) => `‹ ${n}`, "previous"], [near(number_, 1), (n) => `${n} ›`, "next"]].map(([n, say, word]) =>
      n === undefined ? make("span", { class: "quiet" }, say("").trim()) : link(say(n), `i${n}`, { title: `${word} iteration` }));
    return make("div", { class: "tools" }, link("Overview", "head"), ...beside,
      asked("go to", (n) => `#i${n}`), asked("compare with", (n) => `#i${n}..i${number_}`),
      make("button", { type: "button", onclick: help, "aria-label": "keyboard help" }, "?"));
  }

  async function openIteration(number_) {
    return [bar(number_), await article(number_) || missing(number_)];
  }

  // --- Comparison ----------------------------------------------------------------------

  function change(a, b) {
    const [x, y] = [a, b].map(number);
    if (a === b || x === null || y === null || /[a-z]/.test(a + b)) return a === b && a !== "unknown" ? "=" : "";
    const by = Number((y - x).toFixed(4));
    return `${by > 0 ? "+" : by < 0 ? "−" : "="}${by ? (a.startsWith("$") ? "$" : "") + Math.abs(by).toLocaleString("en") : ""}`;
  }

  function figuresOf(view_) {
    return new Map(all(".facts tbody tr", view_).map((row) => [row.cells[0].textContent, row.cells[1].textContent]));
  }

  async function compare(first, second) {
    const pair = [first, second];
    const views = await Promise.all(pair.map(async (n) => await article(n) || missing(n)));
    const [before, after] = views.map(figuresOf);
    const rows = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
      const [a, b] = [before.get(name) || "–", after.get(name) || "–"];
      return [name, a, b, change(a, b)];
    });
    const table = facts(["figure", `iteration ${first}`, `iteration ${second}`, "change"], rows);
    const parts = ["Tests that changed", "Files", "Prompt", "Final answer"].map((title) => {
      const both = views.map((view_, at) => {
        const found = all("section", view_).find((part) => part.firstChild.textContent.startsWith(title));
        const side = found ? found.cloneNode(true) : make("section", {}, make("h2"), make("p", { class: "empty" }, "not in this file"));
        side.firstChild.textContent = `Iteration ${pair[at]}`;
        all("[aria-label]", side).forEach((box) => box.setAttribute("aria-label", `${box.getAttribute("aria-label")} of iteration ${pair[at]}`));
        return side;
      });
      return make("section", {}, make("h2", {}, title), make("div", { class: "pair" }, ...both));
    });
    const command = make("code", { class: "command copy" }, `sprintlog iteration diff ${first} ${second} --patch`);
    return [
      make("div", { class: "tools" }, link("Overview", "head"), link(`‹ iteration ${first}`, `i${first}`),
        link(`iteration ${second} ›`, `i${second}`), link("swap", `i${second}..i${first}`)),
      make("article", {}, make("h1", {}, `Iterations ${first} and ${second}`),
        table, make("p", {}, command), ...parts)];
  }

  function showChoice(section) {
    let button = one(".compare", section);
    if (!button) {
      tools(section).append(button = make("button", { type: "button", class: "compare", onclick: () => {
        const [a, b] = [...kept.chosen].sort((x, y) => x - y);
        window.location.hash = `#i${a}..i${b}`;
      } }));
    }
    button.disabled = kept.chosen.length !== 2;
    button.textContent = kept.chosen.length === 2 ? `compare ${kept.chosen.join(" and ")}` : "compare two";
    all("input[type=checkbox]", section).forEach((box) => { box.checked = kept.chosen.includes(Number(box.value)); });
  }

  function addChoice(row) {
    if (one("input", row)) return;
    const n = Number(row.dataset.n);
    const box = make("input", { type: "checkbox", value: n, "aria-label": `choose iteration ${n}`, onchange: () => {
      kept.chosen = box.checked ? [...kept.chosen, n].slice(-2) : kept.chosen.filter((x) => x !== n);
      showChoice(row.closest("section"));
    } });
    row.cells[0].prepend(box);
  }

  // --- Routing -------------------------------------------------------------------------

  function hideOthers(name) {
    const shown = name === null ? [] : OVERVIEW.includes(name) ? OVERVIEW : ["head", name];
    all("#all > [id]").forEach((part) => { part.hidden = !shown.includes(part.id); });
    one("#all").hidden = name === null;
    view.hidden = name !== null;
    document.body.dataset.view = OVERVIEW.includes(name) ? "overview" : name || "iteration";
    all("nav a[href^='#']").forEach((tab) => {
      const is = tab.hash === `#${name}` || (tab.hash === "#head" && OVERVIEW.includes(name));
      if (is) tab.setAttribute("aria-current", "page"); else tab.removeAttribute("aria-current");
    });
  }

  let opened = 0;
  async function route(moves = true) {
    const hash = window.location.hash.slice(1);
    const [, first, second] = hash.match(/^i(\d{1,9})(?:\.\.i(\d{1,9}))?$/) || [];
    const turn = (opened += 1);
    if (first !== undefined) {
      const made = second === undefined ? await openIteration(Number(first)) : await compare(Number(first), Number(second));
      if (turn !== opened) return;
      const open = moves ? null : all("details", view).map((box) => box.open);
      view.replaceChildren(...made);
      if (open) all("details", view).forEach((box, at) => { if (at in open) box.open = open[at]; });
      finish(view);
      hideOthers(null);
      if (moves) { window.scrollTo(0, 0); one("h1", view).tabIndex = -1; one("h1", view).focus({ preventScroll: true }); }
      return;
    }
    const target = hash && document.getElementById(hash);
    const section = target && target.closest("#all > [id]");
    if (section && section.id === "iterations") whole();
    if (/^v\d+$/.test(hash) && !target) notice(`Version ${hash.slice(1)}: sprintlog show progress --at version:${hash.slice(1)}`);
    hideOthers(section ? section.id : /^v\d/.test(hash) ? "events" : "head");
    if (moves && target && target !== section) target.scrollIntoView({ block: "center" });
    else if (moves) window.scrollTo(0, 0);
  }

  // --- Times, copies, notices ----------------------------------------------------------

  function localTimes(root) {
    for (const shown of all("time[datetime]", root)) {
      const at = new Date(shown.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      shown.title = `${shown.dateTime.slice(0, 19).replace("T", " ")} UTC`;
      shown.textContent = at.toLocaleString("sv"); // the form of ISO 8601
    }
    all(".utc", root).forEach((word) => word.remove());
  }

  function notice(text) {
    let box = one("#notice");
    if (!box) document.body.append(box = make("p", { id: "notice", role: "status" }));
    box.textContent = text;
    clearTimeout(box.timer);
    box.timer = setTimeout(() => { box.textContent = ""; }, 4000);
  }

  function addCopies(root) {
    for (const line of all(".type code.command, code.copy", root)) {
      if (line.nextElementSibling?.classList.contains("copies")) continue;
      const text = line.textContent;
      line.after(make("button", { type: "button", class: "copies", "aria-label": `copy ${text}`, onclick: async () => {
        try { await navigator.clipboard.writeText(text); notice("Copied."); }
        catch { window.getSelection().selectAllChildren(line); notice("Selected: press Ctrl-C to copy."); }
      } }, "copy"));
    }
  }

  function addSides(root) {
    const diffs = all("pre.diff", root);
    if (!diffs.length) return;
    const choose = () => {
      kept.sides = !kept.sides;
      button.setAttribute("aria-pressed", String(kept.sides));
      all("pre.diff", root).forEach(sideBySide);
    };
    const button = make("button", { type: "button", class: "copies", "aria-pressed": String(Boolean(kept.sides)), onclick: choose }, "side by side");
    diffs[0].closest("section").querySelector("h2").append(" ", button);
    if (kept.sides) diffs.forEach(sideBySide);
  }

  function sideBySide(pre) {
    const old = pre.nextElementSibling;
    if (old) old.remove();
    pre.hidden = kept.sides;
    if (!kept.sides) return;
    const rows = [];
    let gone = [];
    const flush = () => { gone.forEach((line) => rows.push([line, ""])); gone = []; };
    for (const line of pre.textContent.split("\n")) {
      if (line.startsWith("-")) gone.push(line);
      else if (line.startsWith("+")) rows.push([gone.shift() || "", line]);
      else { flush(); rows.push([line, line]); }
    }
    flush();
    const kind = { "-": "del", "+": "ins", "@": "b" };
    const cell = (line) => make("td", {}, line ? make(kind[line[0]] || "span", {}, line) : "");
    const table = make("table", {}, make("tbody", {}, ...rows.map((pair) => make("tr", {}, ...pair.map(cell)))));
    pre.after(make("div", { class: "sidewise", tabindex: "0", role: "region", "aria-label": `${pre.getAttribute("aria-label")}, side by side` }, table));
  }

  function finish(root) {
    localTimes(root);
    addCopies(root);
    addSides(root);
  }

  // --- All of it -----------------------------------------------------------------------

  function enhance(section) {
    const table = one("table", section);
    if (table && section.id === "queue") label(section, all("tbody tr", table));
    if (section.id === "timeline") addZoom(section);
    if (section.id === "events") addDensities(section);
    if (table && table.classList.contains("filtered")) addFilter(section, table);
    if (table && table.classList.contains("sortable")) addSorting(section, table);
    if (section.id === "iterations" && table) { addFilter(section, table); }
    finish(section);
  }

  function help() {
    let box = one("#keys");
    if (!box) {
      const keys = { "j, k": "next, previous iteration", Enter: "open the iteration", Esc: "back to the overview",
        "/": "filter", "?": "this list" };
      document.body.append(box = make("dialog", { id: "keys", "aria-label": "keyboard" }, make("h2", {}, "Keyboard"),
        make("dl", {}, ...Object.entries(keys).flatMap(([key, word]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, word)])),
        make("button", { type: "button", onclick: () => box.close() }, "Close")));
    }
    if (box.open) box.close(); else box.showModal();
  }

  function move(by) {
    const [, open] = window.location.hash.match(/^#i(\d+)$/) || [];
    if (open !== undefined) {
      const next = near(Number(open), by);
      if (next !== undefined) window.location.hash = `#i${next}`;
      return;
    }
    const links = all("#quality a, #iterations tbody th a").filter((one_) => one_.getClientRects().length);
    const at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
    if (next) next.focus();
    else if (one("#iterations").contains(document.activeElement) && kept.turn(by)) move(by);
  }

  function onKey(event) {
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea, dialog");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      j: () => move(1), k: () => move(-1), "?": help,
      Escape: () => { if (window.location.hash) window.location.hash = "#head"; },
      "/": () => {
        const shown = all("#all > section:not([hidden]) input[type=search]")[0];
        if (shown) shown.focus();
        else { window.location.hash = "#events"; setTimeout(() => one("#events input[type=search]")?.focus(), 50); }
      },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // A live page calls `replace` with a new section, and `update` after all changes.
  window.sprintlogPage = { enhance, update() {
    fetched = new Map();
    finish(document.getElementById("head"));
    route(false);
  }, replace(id, html) {
    const old = document.getElementById(id);
    const box = document.createElement("template");
    box.innerHTML = html;
    const made = box.content.firstElementChild;
    if (!old || !made) return;
    const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const open = all("details", old).map((part) => part.open);
    const scrolled = all(".scroll", old).map((part) => [part.scrollLeft, part.scrollTop]);
    made.hidden = old.hidden;
    old.replaceWith(made);
    enhance(made);
    all("details", made).forEach((part, at) => { if (at in open) part.open = open[at]; });
    all(".scroll", made).forEach((part, at) => { if (scrolled[at]) [part.scrollLeft, part.scrollTop] = scrolled[at]; });
    if (focused) one(`[aria-label="${CSS.escape(focused)}"]`, made)?.focus({ preventScroll: true });
  } };

  view.id = "view";
  view.hidden = true;
  one("#all").after(view);
  all("#all > [id]").forEach(enhance);
  window.addEventListener("hashchange", () => route());
  document.addEventListener("keydown", onKey);
  route();
})();
