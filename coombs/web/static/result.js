// The result: the checked one in place of the first look, stars and what is left out, two items side by side, what if.
// Without this script the same forms lead to pages of their own.
"use strict";

const result = document.getElementById("result");
const KEPT = `coombs:view:${location.pathname}`;
// Milliseconds without another change before the server is asked where an item would rank.
const CALM = 120;

const params = (form, button) => new URLSearchParams(new FormData(form, button));
const view = () => { const choice = document.getElementById("choice"); return choice ? choice.dataset.state : ""; };

function kept() {
  try { return localStorage.getItem(KEPT) || ""; } catch { return ""; }
}

function keep(state) {
  try { if (state) localStorage.setItem(KEPT, state); else localStorage.removeItem(KEPT); } catch { /* Only for comfort. */ }
  history.replaceState(null, "", state ? `?${state}` : location.pathname);
}

async function part(address) {
  const reply = await fetch(address, { headers: { "X-Part": "result" } });
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  if (!reply.ok) throw new Error((page.querySelector("main p:not(.over)") || page.body).textContent.trim());
  return page;
}

// Sliders beside the fields for numbers.
function slide(under) {
  for (const field of under.querySelectorAll("input[data-step]")) {
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: field.min, max: field.max, step: "any" });
    slider.setAttribute("aria-label", field.labels[0].textContent.trim());
    const step = Number(field.dataset.step);
    slider.value = field.value;
    slider.addEventListener("input", () => {
      const decimals = Math.max(0, Math.ceil(-Math.log10(step)));
      const near = (Math.round(Number(slider.value) / step) * step).toFixed(decimals);
      field.value = Math.min(Math.max(near, field.min), field.max);
    });
    field.addEventListener("input", () => { slider.value = field.value; });
    field.after(slider);
  }
}

async function check(query) {
  result.innerHTML = (await part(`${result.dataset.checked}?${query}`)).body.innerHTML;
  slide(result);
}

async function choose(query, button) {
  const choice = document.getElementById("choice");
  const open = [...choice.querySelectorAll("details[open]")].map((one) => one.id);
  choice.classList.add("busy");
  const page = await part(`${result.dataset.checked}?${query}`);
  const fresh = page.getElementById("choice");
  const gone = (one) => new URLSearchParams(one.dataset.state).getAll("without").join();
  if (gone(choice) !== gone(fresh)) {
    // Other items are left to compare and to change.
    for (const id of ["compare", "what-if"]) {
      const [old, made] = [document.getElementById(id), page.getElementById(id)];
      if (old && made) { old.replaceWith(made); slide(made); }
    }
  }
  for (const id of open) { const one = fresh.querySelector(`#${id}`); if (one) one.open = true; }
  choice.replaceWith(fresh);
  keep(fresh.dataset.state);
  const same = button && button.id && document.getElementById(button.id);
  if (same) same.focus({ preventScroll: true });
}

// A reply that is late does not take the place of a later one.
let asked = 0;
async function renew(form, anew) {
  const box = form.parentElement;
  const query = anew ? new URLSearchParams({ item: form.querySelector("[name=item]").value }) : params(form);
  if (anew) for (const [key, value] of new URLSearchParams(view())) query.append(key, value);
  const turn = ++asked;
  box.classList.add("busy");
  try {
    const page = await part(`${form.getAttribute("action")}?${query}`);
    if (turn !== asked) return;
    if (anew) { box.replaceChildren(...page.body.childNodes); slide(box); } else box.querySelector("[data-outcome]").replaceWith(page.querySelector("[data-outcome]"));
  } catch (error) {
    if (turn !== asked) return;
    const told = document.createElement("p");
    told.className = "notice";
    told.textContent = error.message;
    box.querySelector("[data-outcome]").replaceChildren(told);
  } finally {
    if (turn === asked) box.classList.remove("busy");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-view]") && document.getElementById("choice")) {
    event.preventDefault();
    choose(params(form, event.submitter), event.submitter).catch(() => form.submit());
  } else if (form.matches("[data-part]")) {
    event.preventDefault();
    renew(form);
  } else if (form.id === "axes") event.preventDefault();
});

let waiting;
document.addEventListener("input", (event) => {
  const form = event.target.closest("[data-part=what-if]");
  if (!form || event.target.matches("[data-anew]")) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => renew(form), CALM);
});

document.addEventListener("change", async (event) => {
  const form = event.target.closest("form");
  if (event.target.matches("[data-anew]")) renew(form, true);
  else if (form && form.matches("[data-part=compare]")) {
    const { first, second } = form.elements;
    // Both the same: the other becomes the next one.
    if (first.value === second.value) {
      const other = event.target === first ? second : first;
      other.selectedIndex = (other.selectedIndex + 1) % other.options.length;
    }
    renew(form);
  } else if (form && form.id === "axes") {
    const { x, y } = form.elements;
    const map = document.getElementById("map");
    // Both the same makes no map: the other becomes the next one.
    if (x.value === y.value) { const other = event.target === x ? y : x; other.selectedIndex = (other.selectedIndex + 1) % other.options.length; }
    map.classList.add("busy");
    const reply = await fetch(`${form.action}?${params(form)}`, { headers: { "X-Part": "map" } });
    if (reply.ok) map.innerHTML = await reply.text();
    map.classList.remove("busy");
  }
});

// A picture that cannot be had leaves no hole.
document.addEventListener("error", (event) => { if (event.target.matches && event.target.matches("img")) event.target.hidden = true; }, true);
for (const image of document.querySelectorAll("img")) if (image.complete && !image.naturalWidth && image.loading !== "lazy") image.hidden = true;

if (result) {
  const query = location.search.slice(1) || kept();
  if (result.hasAttribute("data-wait")) {
    check(query).then(() => { if (query) keep(view()); }).catch(() => {
      const checking = document.getElementById("checking");
      checking.textContent = checking.dataset.failed;
    }).finally(() => result.removeAttribute("aria-busy"));
  } else if (query && query !== view() && view() === "" && !location.search) choose(query).catch(() => {});
}
slide(document);
