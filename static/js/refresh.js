// Keeps a part of a page fresh by fetching its HTML again: when the websocket says that there is
// something new, and every so often where there is none. Without this the page is complete, only older.
import { listen } from "./socket.js";

const POLL_MS = 10_000;
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

const isOpen = listen(part.dataset.socket, refresh);
setInterval(() => {
  if (!isOpen()) refresh();
}, POLL_MS);
// Ages are told in minutes, which pass without any news.
setInterval(refresh, 60_000);
document.addEventListener("visibilitychange", refresh);
