"use strict";
/* The browser of cases. Data is only ever written as text (textContent, text nodes), never parsed as HTML. */
(() => {
  const STATUSES = ["ok", "failed", "error"];
  const SIGNS = { ok: "✓", failed: "–", error: "✗" };
  const FIXED = 4; // a row is: index, id, status, note, then the columns' values
  const TEXTS = -1; // what a case is about stands beside the rows
  const byId = (id) => document.getElementById(id);
  const lines = (id) => byId(id).textContent.split("\n").filter(Boolean);

  const info = JSON.parse(byId("info").textContent);
  const rows = lines("rows").map((line) => JSON.parse(line));
  const columns = [
    { name: "id", place: 1 },
    { name: "status", place: 2 },
    ...(info.inputs.length ? [{ name: "case", place: TEXTS }] : []),
    ...info.columns.map((column, at) => ({ ...column, place: FIXED + at })),
    { name: "note", place: 3 },
  ];
  const EXTRAS_SHOWN = 3; // of what is known of a case beside its verdict, as far as nobody asks for more
  const extras = columns.filter((column) => column.extra);
  extras.forEach((column, at) => { column.hidden = at >= EXTRAS_SHOWN || columns.length - extras.length > 9; });
  const visible = () => columns.filter((column) => !column.hidden);
  const state = { query: { words: "", conditions: [] }, statuses: new Set([0, 1, 2]), sort: null, down: false, page: 0, size: 25, shown: rows };

  // --- building elements ---------------------------------------------------------------------------

  function el(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  function bar(share) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("class", "bar");
    svg.setAttribute("aria-hidden", "true");
    for (const [kind, width] of [["track", 100], ["fill", share * 100]]) {
      const rect = document.createElementNS(space, "rect");
      for (const [key, value] of [["class", kind], ["width", `${width}%`], ["height", "100%"], ["rx", "3"]]) {
        rect.setAttribute(key, value);
      }
      svg.append(rect);
    }
    return svg;
  }

  const words = (name) => String(name).replaceAll("_", " ");
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const isScalar = (value) => value === null || typeof value !== "object";

  function scalar(value) {
    if (value === null || value === undefined) return "null";
    if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(+value.toFixed(4));
    return String(value);
  }

  const ROLL_UPS = new Set(["pass", "review", "fail"]);

  /* A code may break after its underscores, and nowhere else. */
  function code(value) {
    const parts = scalar(value).split(/(?<=_)/);
    return parts.flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part]));
  }

  /* Each code of a list on a line of its own. */
  const codes = (value) => scalar(value).split(", ").map((part) => el("div", {}, code(part)));

  function badge(status) {
    return el("span", { class: `badge ${status}` }, el("span", { "aria-hidden": "true" }, SIGNS[status]), ` ${status}`);
  }

  /* A score by where it stands on its scale: a colour beside the number, which says the same. */
  const GRADES = { low: "low on its scale", middle: "in the middle of its scale", high: "high on its scale" };

  function graded(value, scale, text) {
    if (typeof value !== "number" || !scale) return text;
    const at = (value - scale[0]) / (scale[1] - scale[0]);
    const grade = at < 0.5 ? "low" : at < 0.75 ? "middle" : "high";
    return el("span", { class: `grade ${grade}`, title: `${GRADES[grade]} (${scale[0]} to ${scale[1]})` }, text);
  }

  // --- the table -----------------------------------------------------------------------------------

  let lineOf = null;
  const textsOf = new Map();

  /* What a case is about; parsed when it is first shown or searched. */
  function texts(row) {
    if (lineOf === null) lineOf = new Map(lines("texts").map((line) => [parseInt(line.slice(1), 10), line]));
    let found = textsOf.get(row[0]);
    if (found === undefined) {
      const line = lineOf.get(row[0]);
      found = line === undefined ? [] : JSON.parse(line).slice(1);
      textsOf.set(row[0], found);
    }
    return found;
  }

  const firstOf = new Map();
  rows.forEach((row) => firstOf.has(row[1]) || firstOf.set(row[1], row));
  const placeOf = new Map(rows.map((row) => [row[0], row]));

  /* Two cases may share an id: only the first one has the short link. */
  function linkTo(row) {
    const link = `#case=${encodeURIComponent(row[1])}`;
    return firstOf.get(row[1]) === row ? link : `${link}&n=${row[0]}`;
  }

  /* In words: where a large run keeps the rules of its findings alone, what they say stands in their place. */
  function note(row) {
    const rules = row[2] === 0 && row[3] ? row[3].split(", ") : [];
    if (!rules.length || !rules.every((rule) => Object.hasOwn(info.rules, rule))) return row[3] || "";
    return rules.map((rule) => `${info.rules[rule]} (${rule})`).join(" ");
  }

  const COMPARE = {
    "=": (value, wanted) => String(value).toLowerCase() === wanted,
    "!=": (value, wanted) => String(value).toLowerCase() !== wanted,
    "<": (value, wanted) => typeof value === "number" && value < Number(wanted),
    ">": (value, wanted) => typeof value === "number" && value > Number(wanted),
    "<=": (value, wanted) => typeof value === "number" && value <= Number(wanted),
    ">=": (value, wanted) => typeof value === "number" && value >= Number(wanted),
  };

  /* `score<0.5 kind=A rest of the words`: conditions on columns; what is left is looked for as it stands. */
  function readQuery(text) {
    const words = [];
    const conditions = [];
    for (const word of text.trim().toLowerCase().split(/\s+/)) {
      const found = /^([^<>=!]+)(<=|>=|!=|=|<|>)(.+)$/.exec(word);
      const column = found && columns.find((known) => known.name.toLowerCase() === found[1]);
      if (column) conditions.push({ place: column.place, holds: COMPARE[found[2]], wanted: found[3] });
      else words.push(word);
    }
    return { words: words.join(" "), conditions };
  }

  function valueOf(row, place) {
    if (place === TEXTS) return texts(row).join(" ");
    if (place === 3) return note(row);
    return place === 2 ? STATUSES[row[2]] : row[place];
  }

  function matches(row) {
    if (!state.statuses.has(row[2])) return false;
    const { words, conditions } = state.query;
    if (!conditions.every(({ place, holds, wanted }) => holds(valueOf(row, place) ?? "null", wanted))) return false;
    if (!words) return true;
    return haystack(row).includes(words);
  }

  const haystacks = new Map();

  /* All that is searched of a row, made once: the second search is quick. */
  function haystack(row) {
    let found = haystacks.get(row);
    if (found === undefined) {
      const shown = [row[1], note(row), ...row.slice(FIXED), ...texts(row)];
      found = shown.filter((value) => value !== null).join("\n").toLowerCase();
      haystacks.set(row, found);
    }
    return found;
  }

  const inWords = new Intl.Collator(undefined, { numeric: true }); // made once: it is asked a million times

  function compare(a, b, place) {
    const [left, right] = place === TEXTS ? [valueOf(a, place), valueOf(b, place)] : [a[place], b[place]];
    if (left === right) return a[0] - b[0];
    if (left === null || left === undefined || left === "") return 1; // what is empty stands last either way
    if (right === null || right === undefined || right === "") return -1;
    const both = typeof left === "number" && typeof right === "number";
    const order = both ? left - right : inWords.compare(String(left), String(right));
    return state.down ? -order : order;
  }

  function refresh() {
    state.shown = rows.filter(matches);
    if (state.sort !== null) state.shown.sort((a, b) => compare(a, b, state.sort));
    state.page = 0;
    byId("found").textContent =
      state.shown.length === rows.length
        ? `${rows.length.toLocaleString("en")} cases`
        : `${state.shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} cases`;
    drawPage();
  }

  function drawPage() {
    const last = Math.max(Math.ceil(state.shown.length / state.size) - 1, 0);
    state.page = Math.min(Math.max(state.page, 0), last);
    const from = state.page * state.size;
    const lines = state.shown.slice(from, from + state.size).map(drawRow);
    const none = el("tr", {}, el("td", { class: "empty", colspan: visible().length }, "No case to show."));
    byId("table").tBodies[0].replaceChildren(...(lines.length ? lines : [none]));
    byId("where").textContent = `Page ${state.page + 1} of ${last + 1}`;
    byId("first").disabled = byId("back").disabled = state.page === 0;
    byId("last").disabled = byId("forth").disabled = state.page === last;
  }

  function drawRow(row) {
    const cells = visible().map((column) => drawCell(row, column));
    const line = el("tr", {}, cells);
    line.addEventListener("click", (event) => {
      if (!event.target.closest("a") && !String(getSelection())) location.hash = linkTo(row);
    });
    return line;
  }

  function drawCell(row, column) {
    const value = row[column.place];
    if (column.place === 1) {
      return el("td", { class: "id" }, el("a", { href: linkTo(row), class: value.length <= 24 ? "short" : null }, value));
    }
    if (column.place === 2) return el("td", {}, badge(STATUSES[value]));
    if (column.place === 3) return el("td", { class: "memo text" }, marked(note(row)));
    if (column.place === TEXTS) return el("td", { class: "about" }, drawTexts(row));
    if (value === null || value === undefined) {
      const empty = row[2] === 0 ? "null" : "–";
      return el("td", { class: column.number ? "figure" : null }, el("span", { class: "none" }, empty));
    }
    const number = column.number && typeof value === "number";
    if (column.name === "roll_up") return el("td", {}, rollUp(value));
    const shown = number ? graded(value, column.scale, value.toFixed(decimals(column))) : codes(value);
    return el("td", { class: column.number ? "figure" : "word" }, shown);
  }

  function drawTexts(row) {
    return texts(row).map((text, at) => text && el("div", { class: "line text" },
      info.inputs.length > 1 ? el("span", { class: "soft" }, `${words(info.inputs[at])} `) : null, marked(text))).filter(Boolean);
  }

  /* The words that were looked for, marked; where they stand far in, the text begins shortly before them. */
  function marked(text) {
    const wanted = state.query.words;
    const at = wanted ? text.toLowerCase().indexOf(wanted) : -1;
    if (at < 0) return text;
    const from = at > 60 ? at - 40 : 0;
    return [from ? "…" : "", text.slice(from, at), el("mark", {}, text.slice(at, at + wanted.length)), text.slice(at + wanted.length)];
  }

  /* As many as the column's values need, so that the points stand below each other. */
  function decimals(column) {
    if (column.decimals === undefined) {
      const values = rows.map((row) => row[column.place]).filter((value) => typeof value === "number");
      const most = Math.max(0, ...[0, 1, 2].filter((places) => values.some((value) => Math.abs(value - +value.toFixed(places)) > 1e-9)));
      const whole = values.every(Number.isInteger);
      column.decimals = whole ? 0 : most + 1;
    }
    return column.decimals;
  }

  function drawHead() {
    const heads = visible().map((column) => {
      const button = el("button", { type: "button" }, words(column.name));
      const sorted = state.sort !== column.place ? "none" : state.down ? "descending" : "ascending";
      const head = el("th", { scope: "col", class: column.number ? "figure" : null, "aria-sort": sorted }, button);
      button.addEventListener("click", () => sortBy(column, head));
      return head;
    });
    byId("table").tHead.replaceChildren(el("tr", {}, heads));
  }

  /* First click: numbers from the lowest, since that is where the trouble is; second: turned; third: input order. */
  function sortBy(column, head) {
    const again = state.sort === column.place;
    if (again && state.down) [state.sort, state.down] = [null, false];
    else [state.sort, state.down] = [column.place, again];
    for (const other of head.parentElement.children) other.setAttribute("aria-sort", "none");
    if (state.sort !== null) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    refresh();
  }

  /* More is known of the cases than a screen has room for: what else is shown is the reader's choice. */
  function drawChooser() {
    if (!extras.length) return;
    const boxes = extras.map((column) => {
      const box = el("input", { type: "checkbox", checked: !column.hidden });
      box.addEventListener("change", () => {
        column.hidden = !box.checked;
        drawHead();
        drawPage();
      });
      return el("label", {}, box, ` ${words(column.name)}`);
    });
    byId("controls").append(el("details", { class: "chooser" }, el("summary", {}, "Columns"), el("div", {}, boxes)));
  }

  /* Says by example how columns are asked for. */
  function drawHint() {
    const number = columns.find((column) => column.number);
    const word = info.columns.find((column) => !column.number);
    const sample = word && rows.map((row) => row[FIXED + info.columns.indexOf(word)]).find((value) => typeof value === "string" && !/\s/.test(value));
    const most = number && rows.reduce((top, row) => Math.max(top, row[number.place] ?? -Infinity), -Infinity);
    const hints = [number && `${number.name}<${most}`, sample && `${word.name}=${sample}`].filter(Boolean);
    if (hints.length) byId("query").placeholder += `, or ${hints.join(" ")}`;
  }

  function drawChips() {
    STATUSES.forEach((status, code) => {
      const box = el("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) state.statuses.add(code);
        else state.statuses.delete(code);
        refresh();
      });
      const chip = badge(status);
      chip.append(` ${info.counts[status].toLocaleString("en")}`);
      byId("statuses").append(el("label", {}, box, chip));
    });
  }

  // --- one case ------------------------------------------------------------------------------------

  let details = null;

  /* Parsed only when a case is opened: most never are. */
  function detailOf(index) {
    if (details === null) {
      details = new Map(lines("details").map((line) => [Number(line.slice(1, line.indexOf(","))), line]));
    }
    const line = details.get(index);
    return line === undefined ? null : JSON.parse(line)[1];
  }

  let requests = null;

  /* The request of a case: text, null where nothing was asked, undefined where it is not kept. */
  function requestOf(index) {
    if (requests === null) {
      requests = new Map(lines("requests").map((line) => [Number(line.slice(1, line.indexOf(","))), line]));
    }
    const line = requests.get(index);
    return line === undefined ? undefined : JSON.parse(line)[1];
  }

  function openCase(row) {
    const dialog = byId("case");
    const body = byId("case-body");
    body.replaceChildren(...drawCase(row));
    const at = state.shown.indexOf(row);
    byId("position").textContent = at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${state.shown.length.toLocaleString("en")}`;
    byId("previous").disabled = at <= 0;
    byId("next").disabled = at < 0 || at === state.shown.length - 1;
    if (!dialog.open) dialog.showModal();
    body.focus({ preventScroll: true });
    dialog.scrollTop = 0;
    dialog.dataset.index = row[0];
  }

  function step(by) {
    const at = state.shown.indexOf(placeOf.get(Number(byId("case").dataset.index)));
    const row = at < 0 ? undefined : state.shown[at + by];
    if (row) location.hash = linkTo(row);
  }

  function drawCase(row) {
    const status = STATUSES[row[2]];
    const detail = detailOf(row[0]);
    const head = [el("h2", { id: "case-title" }, row[1]), badge(status)];
    if (detail && detail.roll_up) head.push(" ", rollUp(detail.roll_up));
    if (detail === null) {
      const notice = "Only the row of this case is kept in this page. The run folder holds all of it: krino show RUN ID prints it.";
      return [...head, el("p", { class: "notice" }, notice), panel(definitions(rowValues(row)))];
    }
    return [
      ...head,
      ...drawMessage(detail, status),
      ...Object.entries(detail.inputs || {}).flatMap(([name, text]) => section(capital(words(name)), [panel(el("p", { class: "text" }, text))])),
      ...(detail.blocks || []).flatMap(drawBlock),
      ...section("Verdict", status === "ok" ? drawVerdict(detail) : failedForm(detail)),
      ...section("Findings", (detail.findings || []).filter((finding) => status !== "ok" || !Object.hasOwn(detail.verdict || {}, finding.where)).map(drawFinding)),
      ...section("Not read", (detail.unread || []).map(drawUnread)),
      ...section("Labels", detail.labels ? [panel(drawGroups(detail.labels))] : []),
      ...section("Prompt", drawPrompt(requestOf(row[0]))),
      ...section("Reply that could not be used", detail.raw_reply ? [panel(el("pre", { class: "text" }, detail.raw_reply))] : []),
      ...section("About", [panel(definitions(aboutOf(row, detail)))]),
    ];
  }

  const rollUp = (word) => el("span", { class: `badge ${ROLL_UPS.has(word) ? word : ""}` }, word);

  function drawPrompt(request) {
    const prompt = byId("prompt");
    if (!prompt) return [];
    const folds = [["The judge's prompt, the same in every case", prompt.textContent]];
    if (request) folds.push(["What is asked about this case", request]);
    const drawn = folds.map(([title, text]) =>
      el("details", { class: "panel fold" }, el("summary", {}, title), el("pre", { class: "code text" }, text)));
    if (request === null) drawn.push(el("p", { class: "note" }, "Nothing was asked about this case: its facts decide."));
    return drawn;
  }

  const panel = (...children) => el("div", { class: "panel" }, ...children);
  const section = (title, children) => (children.length ? [...(title ? [el("h3", {}, title)] : []), ...children] : []);

  function rowValues(row) {
    return Object.fromEntries(columns.filter((column) => column.place !== 1).map((column) => {
      return [column.name, valueOf(row, column.place)];
    }));
  }

  function drawMessage(detail, status) {
    const text = detail.reason || detail.error;
    if (!text) return [];
    return section(status === "failed" ? "Reason" : "Error", [el("div", { class: `panel message text ${status}` }, text)]);
  }

  function failedForm(detail) {
    return detail.verdict ? [panel(definitions(detail.verdict))] : [];
  }

  /* A field that only explains another (`score_explanation` beside `score`) is shown with it. */
  function drawVerdict(detail) {
    const verdict = detail.verdict || {};
    const names = Object.keys(verdict);
    const explains = new Map();
    for (const name of names) {
      const of = names.find((other) => other !== name && name.startsWith(`${other}_`));
      if (of !== undefined && (verdict[name] === null || typeof verdict[name] === "string")) explains.set(name, of);
    }
    const main = names.filter((name) => !explains.has(name));
    const bare = main.filter((name) => verdict[name] === null && !(detail.evidence || {})[name]);
    const spoken = bare.filter((name) => ![...explains.values()].includes(name));
    const cards = main.filter((name) => !spoken.includes(name)).map((name) => {
      const notes = [...explains].filter(([, of]) => of === name).map(([note]) => verdict[note]);
      return drawRuling(name, verdict[name], notes.filter(Boolean), detail);
    });
    return spoken.length ? [...cards, panel(definitions(Object.fromEntries(spoken.map((name) => [name, null]))))] : cards;
  }

  function drawRuling(name, value, notes, detail) {
    const number = typeof value === "number";
    const long = !isScalar(value) || String(value).length > 60;
    const head = el("div", { class: "head" }, el("span", { class: "field" }, words(name)));
    const scale = (info.columns.find((column) => column.name === name) || {}).scale;
    if (!long) head.append(el("span", { class: number ? "value" : "value word" }, graded(value, scale, scalar(value))));
    const evidence = (detail.evidence || {})[name] || [];
    return el("div", { class: "panel ruling" },
      (detail.findings || []).filter((finding) => finding.where === name).map((finding) => el("p", { class: "caution text" }, `${finding.text} (${finding.rule})`)),
      head,
      number && value >= 0 && value <= 1 ? bar(value) : null,
      long ? el("div", { class: "why text" }, isScalar(value) ? scalar(value) : drawValue(value, 0)) : null,
      notes.map((note) => el("p", { class: "why text" }, note)),
      evidence.length ? el("ul", { class: "evidence" }, evidence.map((item) => el("li", { class: "text" }, item))) : null,
      drawDecider(name, detail));
  }

  function drawDecider(name, detail) {
    const decider = (detail.decided_by || {})[name];
    if (!decider) return null;
    const rule = (detail.rules || {})[name] || (decider === "labeller" ? "" : decider);
    const by = decider === "labeller" ? "Labels" : "Rule";
    const said = info.rules[rule];
    return el("p", { class: "decider" },
      el("span", { class: "by" }, rule ? `${by} · ${rule}` : by), said || "");
  }

  function drawFinding(finding) {
    const said = info.rules[finding.rule];
    return el("div", { class: "panel finding" },
      el("strong", { class: "text" }, finding.text || said || finding.rule),
      finding.where ? el("span", { class: "soft" }, ` · ${finding.where}`) : null,
      el("p", { class: "soft" }, said ? `${finding.rule}: ${said}` : finding.rule));
  }

  function drawUnread(left) {
    return el("div", { class: "panel finding" },
      el("strong", { class: "text" }, left.text),
      el("p", { class: "soft" }, `${left.where}: ${left.why}`));
  }

  function aboutOf(row, detail) {
    const about = { position: row[0] + 1 };
    const source = detail.source;
    if (source) about.source = source.line ? `${source.file}:${source.line}` : source.file;
    for (const [key, value] of Object.entries(detail.metadata || {})) about[key] = value;
    if (detail.labeller) about.labeller = Object.values(detail.labeller).filter(isScalar).filter((value) => value !== null).join(" · ");
    const usage = detail.usage || {};
    if (usage.calls || usage.cached) {
      const cost = usage.cost === null || usage.cost === undefined ? "" : `, cost ${+usage.cost.toPrecision(4)}`;
      about.usage = `${usage.calls} calls, ${usage.cached} cached, ${usage.input_tokens} + ${usage.output_tokens} tokens${cost}`;
    }
    if (usage.seconds) about.time = `${usage.seconds.toFixed(2)} s`;
    return about;
  }

  // --- values of any shape -------------------------------------------------------------------------

  function drawGroups(value) {
    if (!isObject(value)) return [drawValue(value, 0)];
    const entries = Object.entries(value);
    const flat = Object.fromEntries(entries.filter(([, item]) => isScalar(item) || item.length === 0));
    const groups = entries.filter(([key]) => !(key in flat)).map(([key, item]) =>
      el("div", { class: "group" }, el("div", { class: "name" }, words(key)), drawValue(item, 1)));
    return Object.keys(flat).length ? [...groups, el("div", { class: "group" }, definitions(flat))] : groups;
  }

  function drawValue(value, depth) {
    if (isScalar(value)) return el("span", { class: value === null ? "none" : "text" }, scalar(value));
    if (depth > 4) return el("pre", { class: "text" }, JSON.stringify(value, null, 1));
    if (!Array.isArray(value)) return definitions(value, depth + 1);
    if (!value.length) return el("span", { class: "none" }, "none");
    if (value.every((item) => isObject(item))) return drawTable(value, depth);
    return el("ul", { class: "plain-list" }, value.map((item) => el("li", {}, drawValue(item, depth + 1))));
  }

  function definitions(object, depth = 0) {
    const parts = Object.entries(object).flatMap(([key, value]) => [
      el("dt", {}, words(key)), el("dd", {}, drawValue(value, depth))]);
    return el("dl", { class: "small" }, parts);
  }

  function drawTable(items, depth) {
    const keys = [...new Set(items.flatMap((item) => Object.keys(item)))];
    const body = items.map((item) => el("tr", {}, keys.map((key) =>
      el("td", {}, key in item && item[key] !== "" ? drawValue(item[key], depth + 1) : null))));
    return nestedTable(keys.map(words), body);
  }

  function nestedTable(heads, body, kind = "") {
    for (const line of body) [...line.cells].forEach((cell, at) => heads[at] && cell.setAttribute("data-head", heads[at]));
    const head = el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text))));
    return el("div", { class: "wide" }, el("table", { class: `nested ${kind}` }, head, el("tbody", {}, body)));
  }

  // --- blocks that a judge adds --------------------------------------------------------------------

  function drawBlock(block) {
    if (block.kind === "section") return (block.blocks || []).flatMap(drawBlock);
    if (block.kind === "heading") return [el("h3", {}, block.text, block.mark ? ` ${block.mark}` : "")];
    if (block.kind === "paragraph") return [el("p", { class: block.tone ? "notice" : "note" }, block.text)];
    const draw = { marked: drawMarked, list: drawList, table: drawRows, fields: drawFields, verbatim: drawVerbatim }[block.kind];
    if (!draw) return [];
    const box = panel(draw(block));
    if (block.key) box.dataset.key = block.key;
    return section(block.title || "", [box]);
  }

  const TONES = new Set(["good", "warn", "bad", "info", "plain"]);
  const toneOf = (tone) => (TONES.has(tone) ? `row-${tone}` : null);

  const drawList = (block) => el("ul", { class: "plain-list" }, block.items.map((item) => el("li", { class: "text" }, item)));

  const drawVerbatim = (block) => el("pre", { class: "code text" }, block.text);
  const drawFields = (block) => el("dl", { class: "small" }, block.fields.flatMap((field) => [
    el("dt", {}, words(field.name)),
    el("dd", { class: "text" }, field.value, [...(field.first || []), ...(field.notes || []), field.by].filter(Boolean).map((line) => el("p", { class: "note" }, line)))]));

  const drawRows = (block) => nestedTable(block.columns, block.rows.map((row, at) =>
    el("tr", { class: toneOf((block.tones || [])[at]) }, row.map((value) => el("td", {}, drawItem(value))))), "block");

  /* A value of a table: as it is, or a text with something smaller below it. */
  function drawItem(value) {
    if (value === null || value === "") return null;
    if (!isObject(value)) return drawValue(value, 0);
    return [el(value.strong ? "strong" : "span", { class: "text" }, value.text), value.below ? el("div", { class: "soft text" }, value.below) : null];
  }

  function drawMarked(block) {
    const tones = block.tones || {};
    const tone = (mark) => (TONES.has(tones[mark]) ? `tone-${tones[mark]}` : "tone-info");
    const marks = [...new Set(block.segments.map((segment) => segment.mark).filter(Boolean))];
    const legend = marks.map((mark) => el("span", { class: `tone ${tone(mark)}` }, words(mark)));
    return [
      el("p", { class: "marked text" }, block.segments.map((segment) => drawSegment(segment, tone))),
      legend.length ? el("div", { class: "marks" }, legend) : null,
    ].filter(Boolean);
  }

  function drawSegment(segment, tone) {
    if (!segment.mark && !segment.target && !segment.key) return segment.text;
    const linked = segment.target ? { role: "link", tabindex: "0" } : {};
    const description = [segment.mark && words(segment.mark), segment.title].filter(Boolean).join(": ");
    const name = segment.mark ? "mark" : "span";
    const node = el(name, { class: segment.mark ? tone(segment.mark) : null, title: description || null, ...linked }, segment.text);
    if (description) node.append(el("span", { class: "hidden" }, ` (${description})`));
    if (segment.key) node.dataset.key = segment.key;
    if (segment.target) {
      node.addEventListener("click", () => pointAt(segment.target));
      node.addEventListener("keydown", (event) => event.key === "Enter" && pointAt(segment.target));
    }
    return node;
  }

  function pointAt(key) {
    const nodes = [...byId("case-body").querySelectorAll("[data-key]")];
    nodes.forEach((node) => node.classList.toggle("pointed", node.dataset.key === key));
    const found = nodes.find((node) => node.dataset.key === key);
    if (found) found.scrollIntoView({ block: "center" });
  }

  // --- addresses and keys --------------------------------------------------------------------------

  function rowOfHash() {
    const found = /^#case=([^&]*)(?:&n=(\d+))?$/.exec(location.hash);
    if (!found) return null;
    if (found[2] !== undefined) return placeOf.get(Number(found[2])) || null;
    try {
      return firstOf.get(decodeURIComponent(found[1])) || null;
    } catch {
      return null; // not a valid escape
    }
  }

  function follow() {
    const row = rowOfHash();
    if (row) openCase(row);
    else if (byId("case").open) byId("case").close();
  }

  /* The address is cleared of the case that was left, and of no other: the next may have been asked for already. */
  function leaveCase() {
    const row = rowOfHash();
    if (row && row[0] === Number(byId("case").dataset.index)) history.replaceState(null, "", `${location.pathname}${location.search}#cases`);
    const link = [...byId("table").querySelectorAll("td.id a")].find((a) => a.getAttribute("href") === linkTo(placeOf.get(Number(byId("case").dataset.index))));
    if (link) link.focus();
  }

  /* Where a table is wider than its place, a shadow and a line of text say that there is more at the side. */
  function hint(box) {
    const notice = el("p", { class: "more", "aria-hidden": "true" }, "More columns: scroll sideways →");
    box.before(notice);
    const look = () => {
      const left = box.scrollWidth - box.clientWidth - box.scrollLeft;
      notice.hidden = box.scrollWidth <= box.clientWidth + 1;
      box.classList.toggle("more-right", left > 1);
      box.classList.toggle("more-left", box.scrollLeft > 1);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    if (box.firstElementChild) new ResizeObserver(look).observe(box.firstElementChild);
  }

  function turn(to) {
    state.page = to;
    drawPage();
  }

  function listen() {
    let waiting = 0;
    byId("query").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        state.query = readQuery(byId("query").value);
        refresh();
      }, 120);
    });
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    byId("size").addEventListener("change", () => {
      state.size = Number(byId("size").value);
      drawPage();
    });
    byId("first").addEventListener("click", () => turn(0));
    byId("back").addEventListener("click", () => turn(state.page - 1));
    byId("forth").addEventListener("click", () => turn(state.page + 1));
    byId("last").addEventListener("click", () => turn(Infinity));
    byId("previous").addEventListener("click", () => step(-1));
    byId("next").addEventListener("click", () => step(1));
    byId("close").addEventListener("click", () => byId("case").close());
    byId("case").addEventListener("close", leaveCase);
    byId("case").addEventListener("click", (event) => event.target === byId("case") && byId("case").close());
    byId("case").addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") step(-1);
      if (event.key === "ArrowRight") step(1);
    });
    window.addEventListener("hashchange", follow);
  }

  drawHead();
  drawChips();
  drawChooser();
  drawHint();
  listen();
  byId("browser").hidden = false;
  document.querySelectorAll(".scroll").forEach(hint);
  refresh();
  follow();
})();
