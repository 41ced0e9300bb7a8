// Keeps the directory's cards as they are now, each in its place, over a websocket, or by asking every
// few seconds where there is none. Who is new is announced, and comes into the list when asked for.
import { draw } from "./draw.js";
import { fill } from "./format.js";
import { listen } from "./socket.js";

const POLL_MS = 10_000;
const MOST_TOLD = 20; // the server tells of no more newcomers
const list = document.querySelector("[data-now]");
const news = document.querySelector(".news");
const madeAt = Number(list.dataset.madeAt);
const cards = new Map([...list.querySelectorAll("[data-slug]")].map((card) => [card.dataset.slug, card]));
let announced = 0;

function hear({ cards: states, newcomers }) {
  for (const [slug, card] of cards) {
    const state = states[slug];
    const [gone, pill] = [card.querySelector("[data-gone]"), card.querySelector(".pill")];
    [gone.hidden, pill.hidden] = [Boolean(state), !state]; // one takes the other's place
    if (state) draw(card, state);
  }
  announce(newcomers.filter(([slug, at]) => at > madeAt && !cards.has(slug)).length);
}

// The line is a polite live region, whose room is kept while it is empty.
function announce(count) {
  if (count === announced) return;
  announced = count;
  if (count === 0) return news.replaceChildren();
  const many = { count: count < MOST_TOLD ? count : `${MOST_TOLD}+` };
  const link = document.getElementById("news-link").content.cloneNode(true);
  news.replaceChildren(count === 1 ? news.dataset.one : fill(many, news.dataset.many), " – ", link);
}

const isOpen = listen(list.dataset.socket, hear);

async function poll() {
  if (isOpen() || document.hidden) return;
  try {
    const answer = await fetch(list.dataset.now, { cache: "no-cache" }); // the browser keeps the ETag
    if (answer.ok) hear(await answer.json());
  } catch {
    // offline; the next turn tries again
  }
}

setInterval(poll, POLL_MS);
