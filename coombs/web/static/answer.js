// The next question without a new page: send the form, put the reply in its place. Without this script the
// same form works by itself. A repeated answer changes nothing on the server, so it is sent until confirmed.
"use strict";

const place = document.getElementById("turn");
const trouble = document.getElementById("trouble");
const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", s: "skip", S: "skip", Backspace: "undo" };
const WAITS = [500, 1000, 2000, 4000];
const DOUBLE = 350;
let busy = false;
let clicked = -DOUBLE;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function say(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

async function send(address, body) {
  for (let tries = 0; ; tries += 1) {
    let reply = null;
    try {
      reply = await fetch(address, { method: "POST", body, headers: { "X-Part": "question" } });
    } catch {
      say("No connection: this answer is not stored yet. Trying again …");
    }
    if (reply && reply.ok) return reply.text();
    // A refusal stays one; a server that is away may come back.
    if (reply && reply.status < 500) throw new Error(String(reply.status));
    if (reply) say("The server has trouble: this answer is not stored yet. Trying again …");
    await pause(WAITS[Math.min(tries, WAITS.length - 1)]);
  }
}

function show(html, value) {
  const had = document.activeElement && place.contains(document.activeElement);
  place.innerHTML = html;
  const same = had && value && place.querySelector(`button[value="${value}"]:not(:disabled)`);
  if (same) same.focus({ preventScroll: true });
  // What is put in with its text already there is not spoken by all readers.
  const spoken = document.getElementById("spoken");
  if (spoken) {
    const text = spoken.textContent;
    spoken.textContent = "";
    requestAnimationFrame(() => { spoken.textContent = text; });
  }
  if (window.scrollY > 0 && window.matchMedia("(max-width: 40em)").matches) window.scrollTo(0, 0);
}

async function answer(form, button) {
  if (busy || !form || !button || button.disabled) return;
  busy = true;
  const undo = button.classList.contains("undo");
  const body = new URLSearchParams(undo ? { answer: button.value } : { question: form.elements.question.value, choice: button.value });
  const card = button.closest(".card");
  if (card) card.classList.add("chosen");
  place.setAttribute("aria-busy", "true");
  try {
    show(await send(undo ? form.dataset.undo : form.action, body), button.value);
    say("");
  } catch {
    say("That did not work; the page is loaded again.");
    window.location.reload();
  } finally {
    busy = false;
    place.removeAttribute("aria-busy");
  }
}

place.addEventListener("click", (event) => {
  const button = event.target.closest("#question button");
  if (!button) return;
  event.preventDefault();
  // The second click of a double click is not an answer to the next question.
  const again = event.detail > 1 && event.pointerType !== "touch" && event.timeStamp - clicked < DOUBLE;
  clicked = event.timeStamp;
  if (!again) answer(button.form, button);
});

place.addEventListener("submit", (event) => event.preventDefault());

document.addEventListener("keydown", (event) => {
  const key = KEYS[event.key];
  const typing = event.target.closest("input, textarea, select");
  if (!key || typing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const form = document.getElementById("question");
  const button = form && form.querySelector(key === "undo" ? ".undo" : `button[value="${key}"]`);
  if (!button) return;
  event.preventDefault();
  answer(form, button);
});

// A picture that cannot be had leaves no hole, also one that failed before this script was there.
for (const image of place.querySelectorAll("img")) {
  if (image.complete && !image.naturalWidth) image.hidden = true;
}
place.addEventListener("error", (event) => {
  if (event.target.matches && event.target.matches("img")) event.target.hidden = true;
}, true);
