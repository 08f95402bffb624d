// Comforts of the other pages: dropping a file, copying a link, how far the group's page is.
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
    button.textContent = document.body.dataset.copied;
    setTimeout(() => { button.innerHTML = before; }, 1500);
  });
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
