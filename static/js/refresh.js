// Keeps a part of a page fresh by asking the server for its HTML again. Without this the page is
// complete, only older. Heartbeats come once a minute, so a question every ten seconds loses nothing.
const EVERY_MS = 10_000;
const part = document.querySelector("[data-refresh]");
let seen = "";

async function refresh() {
  if (document.hidden || part.contains(document.activeElement)) return;
  try {
    const answer = await fetch(part.dataset.refresh, { cache: "no-cache" }); // the browser keeps the ETag
    if (!answer.ok) return;
    const html = await answer.text();
    if (html !== seen) part.innerHTML = html;
    seen = html;
  } catch {
    // offline; the next turn tries again
  }
}

setInterval(refresh, EVERY_MS);
document.addEventListener("visibilitychange", refresh);
