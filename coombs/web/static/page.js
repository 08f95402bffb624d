// Comforts of the other pages: dropping a file, copying a link, one's own time, how far the group's page is.
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

// Times are sent in UTC, and typed in the time of whoever types; without this script they are typed in UTC.
const inMinutes = (date) => date.toISOString().slice(0, 16);
for (const input of document.querySelectorAll("input[data-utc]")) {
  const label = document.querySelector(`label[for="${input.id}"]`);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  const sent = document.createElement("input");
  sent.type = "hidden";
  sent.name = input.name;
  input.removeAttribute("name");
  input.after(sent);
  label.textContent = label.dataset.local.replace("{zone}", zone.replace("_", " "));
  const at = new Date(`${input.defaultValue}Z`);
  if (!isNaN(at)) input.value = inMinutes(new Date(at - at.getTimezoneOffset() * 60000));
  const send = () => { sent.value = input.value ? inMinutes(new Date(input.value)) : ""; };
  input.addEventListener("input", send);
  input.form.addEventListener("submit", send);
  send();
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
