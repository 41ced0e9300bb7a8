// Keeps a run's page fresh: over a websocket, or by asking every few seconds while there is none.
import { draw } from "./draw.js";
import { ago, fill } from "./format.js";

const POLL_MS = 5_000;
const SILENCE_MS = 40_000; // the server speaks at least every 15 s
const ANNOUNCE_MS = 5_000;
const NEVER_AGAIN = [4404];

const article = document.querySelector("[data-live]");
const freshness = document.querySelector(".freshness");
const announcer = document.querySelector("[data-announce]");
if (article.dataset.rowsLive === "no") document.querySelector("[data-list=history]")?.removeAttribute("data-list");

let version = Number(article.dataset.version);
let sentAt = Date.parse(article.dataset.now);
let clockSkew = sentAt - Date.now(); // the visitor's clock may be wrong
let heardAt = Date.now();
let socket;
let failures = 0;
let gone = false;
let said = "";

function receive(snapshot) {
  const at = Date.parse(snapshot.now);
  if (snapshot.version < version || at < sentAt) return;
  version = snapshot.version;
  sentAt = at;
  clockSkew = at - Date.now();
  heardAt = Date.now();
  article.dataset.phase = snapshot.phase;
  draw(article, snapshot);
  announce(fill(snapshot, announcer.dataset.announce));
  tick();
}

// Screen readers hear about phases only, and not about each one when they rush by.
let announcing;
function announce(text) {
  if (said === "") said = text;
  if (text === said) return;
  said = text;
  clearTimeout(announcing);
  announcing = setTimeout(() => (announcer.textContent = said), ANNOUNCE_MS);
}

function connect() {
  const address = new URL(article.dataset.socket, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  socket = new WebSocket(address);
  socket.onmessage = (event) => {
    failures = 0;
    receive(JSON.parse(event.data));
  };
  socket.onclose = (event) => {
    if (NEVER_AGAIN.includes(event.code)) return stop();
    failures += 1;
    setTimeout(connect, Math.random() * Math.min(30_000, 1_000 * 2 ** failures));
    tick();
  };
}

function stop() {
  gone = true;
  tick();
}

async function poll() {
  if (gone || document.hidden || connection() === "live") return;
  try {
    const answer = await fetch(article.dataset.live, { cache: "no-cache" }); // the browser keeps the ETag
    if (answer.status === 404) return stop();
    if (answer.ok) receive(await answer.json());
  } catch {
    // offline; the next turn tries again
  }
}

function connection() {
  if (gone) return "gone";
  const open = socket?.readyState === WebSocket.OPEN && failures === 0;
  return open && Date.now() - heardAt < SILENCE_MS ? "live" : "polling";
}

function tick() {
  const state = connection();
  freshness.dataset.connection = state;
  for (const el of freshness.querySelectorAll("[data-shown-when]"))
    el.hidden = !el.dataset.shownWhen.split(" ").includes(state);
  freshness.querySelector("[data-ago]").textContent = ago((Date.now() - heardAt) / 1000);
  for (const el of article.querySelectorAll("[data-countdown]")) {
    const left = Math.max(0, (Date.parse(el.getAttribute("datetime")) - Date.now() - clockSkew) / 1000);
    el.textContent = fill({ left }, el.dataset.countdown);
  }
}

connect();
setInterval(tick, 1_000);
setInterval(poll, POLL_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) poll();
});
