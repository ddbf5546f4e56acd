"use strict";
/* Keys, filters that act at once, and progress that keeps itself current. Every page works without it. */
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  const SOON = 2000; // milliseconds between two questions about progress

  // --- keys ----------------------------------------------------------------------------------------

  const isTyping = (node) => node.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;

  /* The row that has the focus, or -1; j and k go to the next and the previous one. */
  function move(by) {
    const links = all("[data-row] [data-open]");
    const now = links.findIndex((link) => link.closest("[data-row]").contains(document.activeElement));
    const next = links[now < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(now + by, 0), links.length - 1)];
    if (next) {
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    }
    return links.length > 0;
  }

  function follow(selector) {
    const link = one(selector);
    if (link) link.click();
  }

  const KEYS = {
    "/": () => one("[data-search]") && one("[data-search]").focus(),
    j: () => move(1) || follow("[data-next]"),
    k: () => move(-1) || follow("[data-back]"),
    n: () => follow("[data-next]"),
    p: () => follow("[data-back]"),
    u: () => follow("[data-up]"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (Object.hasOwn(KEYS, event.key)) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });

  /* A row is as good as the link in it, unless somebody marks text there. */
  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (row && !event.target.closest("a, button, input, label") && !String(getSelection())) row.querySelector("[data-open]").click();
  });

  // --- forms ---------------------------------------------------------------------------------------

  /* What is empty is left out of the address: a link that is passed on says only what was asked. */
  all("form[method=get]").forEach((form) => form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
  }));
  all("[data-now]").forEach((field) => field.addEventListener("change", () => field.form.requestSubmit()));
  window.addEventListener("pageshow", () => all("form[method=get] :disabled").forEach((field) => { field.disabled = false; }));

  // --- what goes on --------------------------------------------------------------------------------

  async function watch(box) {
    const state = box.querySelector(".state");
    const bar = box.querySelector("progress");
    for (;;) {
      await new Promise((done) => setTimeout(done, SOON));
      const reply = await fetch(box.dataset.live, { headers: { accept: "application/json" } }).catch(() => null);
      if (reply && reply.status === 404) return again(); // the run is gone: the page says so
      if (!reply || !reply.ok) continue;
      const now = await reply.json();
      if (!now.live) return again();
      if (state.textContent !== now.message) state.textContent = now.message;
      if (now.share === null) bar.removeAttribute("value");
      else bar.value = now.share;
    }
  }

  /* Shows what is there now, unless somebody is writing. */
  function again() {
    if (!isTyping(document.activeElement || document.body)) location.reload();
  }

  all("[data-live]").forEach(watch);
  if (one("[data-reload]")) setTimeout(again, SOON);

  /* A verdict was asked for: it is where reading begins. */
  const verdict = one(".judged > h2[tabindex]");
  if (verdict) verdict.focus();
})();
