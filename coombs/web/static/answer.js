// The next question without a new page: send the form, put the reply in its place. Without this script the
// same form works by itself. A repeated answer changes nothing on the server, so it is sent until confirmed.
"use strict";

const place = document.getElementById("turn");
const trouble = document.getElementById("trouble");
// What is said when something fails, in the reader's language.
const texts = trouble.dataset;
const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", s: "skip", S: "skip", Backspace: "undo" };
const WAITS = [500, 1000, 2000, 4000];
// A server that hangs sends nothing: after so many milliseconds the same is sent again.
const PATIENCE = 20000;
const DOUBLE = 350;
// Refusals that stay: what was sent can never be stored. All else may work later.
const PASSING = [408, 425, 429];
let busy = false;
let unsent = false;
let clicked = -DOUBLE;
// Whether a radio button was changed by a pointer: arrow keys change it on the way to another.
let pointed = false;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function say(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

// What one try came to: the next question, why it is refused for good, or neither.
async function attempt(address, body) {
  const reply = await fetch(address, { method: "POST", body, headers: { "X-Part": "question" }, signal: AbortSignal.timeout(PATIENCE) });
  const text = await reply.text();
  // A reply that is not ours, such as that of a hotel's login page, stores nothing.
  if (reply.ok) return reply.headers.get("X-Part") === "question" ? { html: text } : { away: true };
  const final = reply.status >= 400 && reply.status < 500 && !PASSING.includes(reply.status);
  return final ? { refused: reply.status } : { troubled: true };
}

async function send(address, body, what) {
  for (let tries = 0; ; tries += 1) {
    const { html, refused, troubled } = await attempt(address, body).catch(() => ({}));
    if (html !== undefined) return html;
    if (refused) throw new Error(String(refused));
    unsent = true;
    say(texts[`${what}${troubled ? "Trouble" : "Offline"}`]);
    await pause(WAITS[Math.min(tries, WAITS.length - 1)]);
  }
}

// The current page, once the server is there to show it.
async function reload() {
  for (let tries = 0; ; tries += 1) {
    const there = await fetch(window.location.href, { signal: AbortSignal.timeout(PATIENCE) }).catch(() => null);
    if (there && there.status < 500) return window.location.reload();
    await pause(WAITS[Math.min(tries, WAITS.length - 1)]);
  }
}

function show(html, value) {
  const had = document.activeElement && place.contains(document.activeElement);
  place.innerHTML = html;
  // No more questions: what comes then is another page.
  const onward = place.querySelector("[data-go]");
  if (onward) return window.location.assign(onward.dataset.go);
  const same = had && place.querySelector(value ? `button[value="${value}"]:not(:disabled)` : "form.set input[name=best]");
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

// What is sent: an undo, the best and the worst of a set, or a choice.
function said(form, button) {
  if (button.classList.contains("undo")) return { answer: button.value };
  const question = form.elements.question.value;
  if (!button.classList.contains("send")) return { question, choice: button.value };
  return { question, best: picked(form, "best").value, worst: picked(form, "worst").value };
}

function picked(form, end) {
  return form.querySelector(`input[name="${end}"]:checked`);
}

async function answer(form, button) {
  if (busy || !form || !button || button.disabled) return;
  if (button.classList.contains("send") && !form.reportValidity()) return;
  busy = true;
  const undo = button.classList.contains("undo");
  const body = new URLSearchParams(said(form, button));
  const card = button.closest(".card");
  if (card) card.classList.add("chosen");
  place.setAttribute("aria-busy", "true");
  try {
    show(await send(undo ? form.dataset.undo : form.action, body, undo ? "undo" : "answer"), button.value);
    say("");
  } catch {
    say(texts.refused);
    unsent = false;
    await reload();
  } finally {
    busy = unsent = false;
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

// The best and the worst of a set are two different items; with both of them picked by a pointer it is sent.
function pick(form, input) {
  input.checked = true;
  const other = picked(form, input.name === "best" ? "worst" : "best");
  if (other && other.value === input.value) other.checked = false;
  else if (other && pointed) answer(form, form.querySelector(".send"));
}

document.addEventListener("pointerdown", () => { pointed = true; });
document.addEventListener("keydown", () => { pointed = false; }, true);
place.addEventListener("change", (event) => {
  const form = event.target.closest("form.set");
  if (form && event.target.type === "radio") pick(form, event.target);
});

// The number of the best of a set, then that of the worst.
function pickByNumber(form, number) {
  const end = picked(form, "best") ? "worst" : "best";
  const input = form.querySelectorAll(`input[name="${end}"]`)[number - 1];
  if (!input || busy) return;
  pointed = true;
  pick(form, input);
}

// Who leaves before an answer is stored is asked first.
window.addEventListener("beforeunload", (event) => { if (unsent) event.preventDefault(); });

place.addEventListener("submit", (event) => event.preventDefault());

document.addEventListener("keydown", (event) => {
  const key = KEYS[event.key];
  const typing = event.target.closest("input:not([type=radio]), textarea, select");
  const form = document.getElementById("question");
  if (typing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (form && form.matches(".set") && /^[1-5]$/.test(event.key)) return pickByNumber(form, Number(event.key));
  if (!key) return;
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
