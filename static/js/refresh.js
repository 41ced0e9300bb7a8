// Keeps a part of a page fresh by fetching its HTML again: when the websocket says that there is
// something new, and every so often where there is none. Without this the page is complete, only older.
const POLL_MS = 10_000;
const NEVER_AGAIN = [4404];
const part = document.querySelector("[data-refresh]");
let seen = "";
let socket;
let failures = 0;

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

function connect() {
  const address = new URL(part.dataset.socket, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  socket = new WebSocket(address);
  socket.onmessage = () => {
    failures = 0;
    refresh();
  };
  socket.onclose = (event) => {
    if (NEVER_AGAIN.includes(event.code)) return;
    failures += 1;
    setTimeout(connect, Math.random() * Math.min(30_000, 1_000 * 2 ** failures));
  };
}

if (part.dataset.socket) connect();
setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN) refresh();
}, POLL_MS);
// Ages are told in minutes, which pass without any news.
setInterval(refresh, 60_000);
document.addEventListener("visibilitychange", refresh);
