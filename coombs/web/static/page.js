// Comforts of the other pages: dropping a file, copying a link, choosing the map's axes, words that come later, how far the group's page is.
"use strict";

const drop = document.getElementById("drop");
if (drop) {
  const file = document.getElementById("file");
  const form = document.getElementById("upload");
  for (const kind of ["dragover", "dragenter"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over-it"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over-it"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over-it");
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  file.addEventListener("change", () => { if (file.files.length) form.requestSubmit(); });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const before = button.innerHTML;
    button.textContent = "Copied";
    setTimeout(() => { button.innerHTML = before; }, 1500);
  });
}

const axes = document.getElementById("axes");
if (axes) {
  const [x, y] = [axes.elements.x, axes.elements.y];
  const map = document.getElementById("map");
  let before = [x.value, y.value];
  axes.addEventListener("change", async () => {
    // Both the same makes no map: the two change places.
    if (x.value === y.value) [x.value, y.value] = [before[1], before[0]];
    before = [x.value, y.value];
    map.classList.add("busy");
    const reply = await fetch(`${axes.action}?${new URLSearchParams({ x: x.value, y: y.value })}`, { headers: { "X-Part": "map" } });
    if (reply.ok) map.innerHTML = await reply.text();
    map.classList.remove("busy");
  });
  axes.addEventListener("submit", (event) => event.preventDefault());
}

const words = document.getElementById("words");
if (words && words.dataset.from) {
  fetch(words.dataset.from).then(async (reply) => {
    if (!reply.ok) throw new Error(String(reply.status));
    words.innerHTML = await reply.text();
  }).catch(() => {
    words.querySelector(".waiting").textContent = "This part could not be had just now; load the page again.";
  }).finally(() => words.removeAttribute("aria-busy"));
}

const learning = document.getElementById("learning");
if (learning) {
  const bar = document.getElementById("learned");
  const look = async () => {
    const reply = await fetch(learning.dataset.from).catch(() => null);
    if (reply && reply.ok) {
      const { fraction, done } = await reply.json();
      if (done) { location.reload(); return; }
      bar.value = fraction;
    }
    setTimeout(look, 700);
  };
  setTimeout(look, 300);
}
