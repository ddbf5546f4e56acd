// Keeps the agreement as it is now: asks every two seconds whether there is something new, and shows it.
"use strict";
(() => {
  let known = "";
  async function look() {
    const live = document.getElementById("live");
    if (document.hidden || !live) return;
    const reply = await fetch(location.href, { headers: known ? { "If-None-Match": known } : {}, cache: "no-store" });
    if (reply.status !== 200) return;
    known = reply.headers.get("etag") || "";
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const now = page.getElementById("live");
    if (!now || now.dataset.edition === live.dataset.edition) return;
    const open = live.querySelector("details")?.open;
    live.replaceWith(now);
    if (open) now.querySelector("details")?.setAttribute("open", "");
  }
  setInterval(() => look().catch(() => {}), 2000);
})();
