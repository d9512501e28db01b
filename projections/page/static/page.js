"use strict";
// The page is complete without this script. It adds: a slider over versions, filters,
// sorting, zoom, comparison of any two iterations, densities, deep links and keys.
(() => {
  const kept = { filters: {}, sorts: {}, density: "full", zoom: 1, pair: null, version: null };
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  let playing = null;
  let history = null;

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
    let shown = 0;
    const rows = all("tbody tr", table);
    for (const row of rows) {
      const said = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => said.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    const count = one("output", section);
    if (count) count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  }

  function addFilter(section, table) {
    const input = make("input", {
      type: "search", value: kept.filters[section.id] || "", "aria-label": `filter ${section.id}`,
      placeholder: "filter", oninput: () => {
        kept.filters[section.id] = input.value;
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
    const found = said.replace(/[$,%]/g, "").match(/^[+-]?\d+(\.\d+)?/);
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

  // On a phone a row is a card, in which each figure has its name.
  function label(table) {
    const names = all("thead th", table).map((head) => head.textContent);
    all("tbody tr", table).forEach((row) => [...row.cells].forEach((cell, at) => { cell.dataset.label = names[at]; }));
    table.classList.add("labelled");
  }

  function addSorting(section, table) {
    all("thead th", table).forEach((head, index) => {
      const button = make("button", {
        type: "button", onclick: () => {
          const ascending = head.getAttribute("aria-sort") !== "ascending";
          kept.sorts[section.id] = [index, ascending];
          sort(table, index, ascending);
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

  // --- Versions ------------------------------------------------------------------------

  function readHistory() {
    const element = one("#versions");
    if (!element) return null;
    const data = JSON.parse(element.textContent);
    let at = 0;
    data.times = data.versions.map((version) => (at += version[0]));
    data.last = data.first + data.versions.length;
    return data;
  }

  function clock(milliseconds) {
    return new Date(milliseconds).toISOString().replace(".000Z", "Z");
  }

  function elapsed(milliseconds) {
    const seconds = Math.max(0, Math.floor(milliseconds / 1000));
    const two = (value) => String(value).padStart(2, "0");
    return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  }

  function lineOf(data, line, version) {
    const [index, changed, set = changed] = typeof line === "number" ? [line, version] : line;
    let text = data.texts[index];
    if (version > data.first) {
      const at = data.times[version - data.first - 1];
      text = text.replace("\u0001", () => clock(at));
      text = text.replace("\u0002", () => elapsed(at - data.started));
    }
    return { text, changed, set };
  }

  function linesAt(data, version) {
    const lines = data.lines.map((line) => lineOf(data, line, data.first));
    for (let v = data.first + 1; v <= version; v += 1) {
      const [, , , ...splices] = data.versions[v - data.first - 1];
      for (const [at, gone, ...came] of splices) {
        lines.splice(at, gone, ...came.map((line) => lineOf(data, line, v)));
      }
    }
    return lines;
  }

  function told(data, version) {
    if (version <= data.first) return { type: "", actor: "", at: "" };
    const [, type, actor] = data.versions[version - data.first - 1];
    const at = clock(data.times[version - data.first - 1]);
    return { type: data.words[type], actor: data.words[actor], at: at.slice(0, 19).replace("T", " ") };
  }

  function show(version, moves = false) {
    const section = one("#state");
    if (!history || !section) return;
    const there = Math.min(Math.max(version, Math.max(history.first, 1)), history.last);
    kept.version = there === history.last ? null : there;
    const event = told(history, there);
    const row = one(`#events a[href="#v=${there}"]`);
    const says = row ? row.closest("tr").cells[3].firstChild.textContent : event.type;
    one("input[type=range]", section).value = there;
    one("output", section).textContent = `version ${there}  ${event.at}  ${event.actor}  ${says}`;
    const body = one("table.file tbody", section);
    body.replaceChildren(...linesAt(history, there).map((line, index) => {
      const by = told(history, line.changed);
      const set = line.set === line.changed ? "" : `, from version ${line.set}`;
      const who = by.type ? `${by.type} by ${by.actor}${set}` : "";
      return make("tr", { class: line.changed === there ? "new" : null },
        make("td", { class: "num" }, String(index + 1)),
        make("td", {}, make("code", {}, line.text)),
        make("td", {}, make("a", { href: `#v=${line.changed}` }, `v${line.changed}`)),
        make("td", {}, who));
    }));
    if (moves) {
      window.history.replaceState(null, "", `#v=${there}`);
      section.scrollIntoView({ block: "start" });
    }
  }

  function step(by) {
    const there = Number(one("#state input[type=range]").value) + by;
    show(there);
    window.history.replaceState(null, "", `#v=${one("#state input[type=range]").value}`);
  }

  function play(button) {
    if (playing) {
      clearInterval(playing);
      playing = null;
    } else {
      const slider = one("#state input[type=range]");
      if (slider.value === slider.max) show(Number(slider.min));
      playing = setInterval(() => {
        step(1);
        if (Number(one("#state input[type=range]").value) >= history.last) play(button);
      }, 400);
    }
    button.textContent = playing ? "stop" : "play";
  }

  function addSlider(section) {
    history = readHistory();
    if (!history || !history.versions.length) return;
    const slider = make("input", {
      type: "range", min: Math.max(history.first, 1), max: history.last, value: history.last,
      "aria-label": "version", oninput: () => {
        show(Number(slider.value));
        window.history.replaceState(null, "", `#v=${slider.value}`);
      },
    });
    const button = (label, word, act) => make("button", { type: "button", "aria-label": label, onclick: act }, word);
    const playButton = button("play", "play", () => play(playButton));
    tools(section).append(
      button("version before", "‹", () => step(-1)), slider,
      button("next version", "›", () => step(1)), playButton,
      make("output", { class: "note", "aria-live": "polite" }));
    show(kept.version === null ? history.last : kept.version);
  }

  // --- Comparison ----------------------------------------------------------------------

  function cells(number_) {
    const table = one("#iterations table");
    const row = one(`#iterations tr[data-n="${number_}"]`);
    const heads = all("thead th", table).map((head) => head.textContent);
    return { row, said: heads.map((name, index) => [name, row.cells[index]]).slice(1) };
  }

  function value(cell) {
    return Number(cell.dataset.ms || cell.textContent.replace(/[$,]/g, ""));
  }

  function duration(ms) {
    const two = (value) => String(value).padStart(2, "0");
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 59950) return `${(ms / 1000).toFixed(1).replace(".0", "")} s`;
    const seconds = Math.round(ms / 1000);
    const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600), Math.floor(seconds / 60)];
    if (days) return `${days}d ${two(hours % 24)}h`;
    return hours ? `${hours}h ${two(minutes % 60)}m` : `${minutes}m ${two(seconds % 60)}s`;
  }

  function change(a, b) {
    const [x, y] = [a.textContent, b.textContent];
    if (x === "–" || y === "–") return "";
    const by = value(b) - value(a);
    if (x === y || by === 0) return "=";
    if (Number.isNaN(by)) return "≠";
    const by_ = Math.abs(by);
    const dollars = by_ < 0.005 ? `$${by_.toFixed(4)}` : `$${by_.toFixed(2)}`;
    const plain = x.startsWith("$") ? dollars : Number(by_.toFixed(4)).toLocaleString("en");
    return `${by > 0 ? "+" : "-"}${a.dataset.ms ? duration(by_) : plain}`;
  }

  function difference(before, after) {
    // The longest common lines, as every diff has them.
    const [n, m] = [before.length, after.length];
    if (n * m > 4e6) return null;
    const best = Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
    for (let i = n - 1; i >= 0; i -= 1) {
      for (let j = m - 1; j >= 0; j -= 1) {
        best[i][j] = before[i] === after[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    }
    const found = [];
    let [i, j] = [0, 0];
    while (i < n || j < m) {
      if (i < n && j < m && before[i] === after[j]) { i += 1; j += 1; }
      else if (j < m && (i === n || best[i][j + 1] > best[i + 1][j])) { found.push(["ins", `+ ${after[j]}`]); j += 1; }
      else { found.push(["del", `- ${before[i]}`]); i += 1; }
    }
    return found;
  }

  function compare(section, first, second) {
    kept.pair = [first, second];
    const [one_, other] = [cells(first), cells(second)];
    const table = one("table", section);
    const heads = all("thead th", table);
    heads[1].textContent = `iteration ${first}`;
    heads[2].textContent = `iteration ${second}`;
    one("tbody", table).replaceChildren(...one_.said.map(([name, a], index) => {
      const b = other.said[index][1];
      return make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "num" }, a.textContent),
        make("td", { class: "num" }, b.textContent), make("td", { class: "num change" }, change(a, b)));
    }));
    all(".files, .changed-lines", section).forEach((old) => old.remove());
    const command = make("code", { class: "command" }, `sprintlog iteration diff ${first} ${second}`);
    table.parentElement.after(make("p", { class: "note files" }, "The files that differ, where they were kept: ", command));
    const [from, to] = [one_.row, other.row].map((row) => Number(row.dataset.v));
    if (!history || !from || !to || Math.min(from, to) < Math.max(history.first, 1)) return;
    const lines = [from, to].map((version) => linesAt(history, version).map((line) => line.text));
    const found = difference(...lines);
    if (!found) return;
    const drawn = found.length ? found.flatMap(([name, text]) => [make(name, {}, text), "\n"]) : ["no line of the state differs"];
    one(".files", section).after(make("pre", { class: "changed-lines", tabindex: "0", role: "region",
      "aria-label": `state from version ${from} to ${to}` }, `state, version ${from} to ${to}\n`, ...drawn));
  }

  function addComparison(section) {
    const rows = all("#iterations tbody tr[data-n]").filter((row) => row.dataset.v);
    if (!one("table", section) || rows.length < 2) return;
    const numbers = rows.map((row) => row.dataset.n).sort((a, b) => a - b);
    const heads = all("thead th", one("table", section)).map((head) => head.textContent.match(/\d+/));
    const pair = kept.pair || [heads[1][0], heads[2][0]];
    const [first, second] = [0, 1].map((side) => {
      const chosen = make("select", { "aria-label": side ? "second iteration" : "first iteration",
        onchange: () => compare(section, first.value, second.value) },
      ...numbers.map((n) => make("option", { value: n, selected: n === pair[side] }, `iteration ${n}`)));
      return chosen;
    });
    tools(section).append(first, "with", second);
    if (kept.pair) compare(section, ...kept.pair);
  }

  // --- All of it -----------------------------------------------------------------------

  function enhance(section) {
    const table = one("table", section);
    if (table && ["iterations", "queue", "sessions"].includes(section.id)) label(table);
    if (section.id === "timeline") addZoom(section);
    if (section.id === "events") addDensities(section);
    if (table && table.classList.contains("filtered")) addFilter(section, table);
    if (table && table.classList.contains("sortable")) addSorting(section, table);
    if (section.id === "iterations" && table) addFilter(section, table);
    if (section.id === "compare") addComparison(section);
    if (section.id === "state") addSlider(section);
    document.dispatchEvent(new CustomEvent("page:section", { detail: section }));
  }

  function followLink() {
    const found = window.location.hash.match(/^#v=(\d{1,9})$/);
    if (found) show(Number(found[1]), true);
  }

  function onKey(event) {
    const typing = event.target.closest("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !history) return;
    if (event.target.closest(".scroll, .changed-lines") && event.key.startsWith("Arrow")) return;
    const keys = { ArrowLeft: -1, ArrowRight: 1, PageUp: 0, PageDown: 0 };
    if (keys[event.key]) {
      event.preventDefault();
      step(keys[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      one("#events input[type=search]")?.focus();
    }
  }

  function onClick(event) {
    const drawn = event.target.closest("svg [data-v], svg[data-v]");
    if (drawn) window.location.hash = `#v=${drawn.dataset.v}`;
  }

  // A live page calls this with a new section, after it has put it in the old one's place.
  window.sprintlogPage = { enhance, show, replace(id, html) {
    const old = document.getElementById(id);
    const box = document.createElement("template");
    box.innerHTML = html;
    const made = box.content.firstElementChild;
    if (!old || !made) return;
    const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const scrolled = all(".scroll", old).map((part) => [part.scrollLeft, part.scrollTop]);
    old.replaceWith(made);
    enhance(made);
    all(".scroll", made).forEach((part, at) => { if (scrolled[at]) [part.scrollLeft, part.scrollTop] = scrolled[at]; });
    if (focused) one(`[aria-label="${CSS.escape(focused)}"]`, made)?.focus({ preventScroll: true });
  } };

  all("main > section, main > header").forEach((section) => {
    // The comparison reads the versions, which stand below it.
    if (section.id === "state") enhance(section);
  });
  all("main > section").forEach((section) => { if (section.id !== "state") enhance(section); });
  window.addEventListener("hashchange", followLink);
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  followLink();
})();
